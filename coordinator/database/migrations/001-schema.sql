-- The schema of 1.0.0, by subject. Forward only: a later change is a later file. Organisations,
-- monitors and probes also carry a running number (key): big tables refer to it, because eight
-- bytes index better than sixteen, and lists page by it, because it is given under the
-- organisation's lock and so grows in the order of commit.

-- THE INSTALLATION
-- Which database this is, its keys, and what coordinators tell one another.

-- Who this database is: a restored one is another, so that what the bus holds of the older state is
-- not taken for its own.
create table installation (
  single boolean not null default true,
  id uuid not null default gen_random_uuid(),
  created_at timestamptz not null default now(),
  -- No place's epoch is lower than this one. A restored database does not know what was taken out
  -- of use after its backup, so it gets the time of its restoration.
  seal_epoch bigint not null default 1,
  -- When whoever watches the installation last took a ping of it (rule 53).
  sign_of_life_at timestamptz,
  check (single),
  primary key (single)
);
insert into installation default values;

-- Keys that secrets of monitors and heartbeat tokens are encrypted with, themselves encrypted with
-- one derived from SECRET_KEY. The newest encrypts; older ones stay until nothing uses them any
-- more.
create table secret_keys (
  id uuid not null,
  wrapped bytea not null,
  created_at timestamptz not null default now(),
  primary key (id)
);

-- Keys that outlive SECRET_KEY: what they made (fingerprints of tokens, cursors) stays good when
-- SECRET_KEY is replaced. Wrapped as the keys of secrets are; without a row the key is derived from
-- SECRET_KEY.
create table kept_keys (
  purpose text not null,
  wrapped bytea not null,
  primary key (purpose)
);

-- How well the service itself did, a row for each day that is over and settled: what the page about
-- ourselves shows.
create table own_days (
  day date not null,
  -- Outages that were confirmed as they happened, and from the first failing check to the commit
  -- that confirmed them.
  confirmed integer not null,
  p50_ms integer,
  p95_ms integer,
  -- Of these, those that two continents saw and that others, which looked too, did not see within
  -- the hour.
  doubted integer not null,
  results_lost bigint not null,
  -- Of our own parts: how often one was out, and for how long in all.
  own_outages integer not null,
  own_outage_s integer not null,
  counted_at timestamptz not null default now(),
  primary key (day)
);

-- What probes had to drop, by the day on which they said so.
create table own_losses (
  day date not null,
  results bigint not null,
  primary key (day)
);

create table refused (
  day date not null,
  probe text not null,
  reason text not null,
  count bigint not null,
  -- So that one sees whether a count still grows.
  last_at timestamptz not null default now(),
  primary key (day, probe, reason)
);

-- Notices for the operator: probe events, one for each event, never one for each monitor.
create table notices (
  id bigint generated always as identity,
  kind text not null,
  subject text not null,
  message text not null,
  began_at timestamptz not null default now(),
  ended_at timestamptz,
  -- When the owners of a private probe were mailed of what is wrong with it (rule 39).
  owners_told_at timestamptz,
  primary key (id)
);
create unique index notices_open on notices (kind, subject) where (ended_at is null);

-- What a transaction wants done outside the database. `monitor`: the partition's owner re-reads the
-- monitor and republishes its assignment; `probe`: created, rotated or revoked; `ping_key`: an
-- address of a heartbeat changed.
create table outbox (
  id bigint generated always as identity,
  topic text not null,
  partition smallint,
  organisation_id uuid,
  idempotency_key text,
  payload jsonb not null,
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  attempts integer not null default 0,
  last_error text,
  done_at timestamptz,
  unique (idempotency_key),
  primary key (id)
);
create index outbox_by_end on outbox (done_at) where (done_at is not null);
create index outbox_waiting on outbox (topic, partition, id) where (done_at is null);

-- Messages that could not be worked on, set aside for the operator; and refusals of the bus,
-- counted by reason.
create table set_aside (
  id bigint generated always as identity,
  subject text not null,
  reason text not null,
  data bytea not null,
  at timestamptz not null default now(),
  -- What the operator asked to be worked on once more, and how often that was in vain.
  attempts integer not null default 0,
  retry_asked_at timestamptz,
  primary key (id)
);

-- Assistants that act as the person who connected them. A connection is also the OAuth grant, under
-- the same id: whatever ends it ends all that was given out under it, in the same statement.
create table connections (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  user_id uuid not null,
  client_id text not null,
  -- What the client calls itself, and the host that its answers went back to. Both are the word of
  -- a stranger.
  client_name text not null,
  redirect_host text not null,
  scope text not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  check (scope in ('read', 'read_write')),
  unique (key),
  primary key (id)
);
create index connections_client on connections (client_id);
create index connections_owner on connections (organisation_id, user_id);

-- Calls of a token in its present window, settled between coordinators in batches.
create unlogged table rate_windows (
  subject text not null,
  began_at timestamptz not null,
  calls integer not null,
  primary key (subject)
);

-- What a call was answered that named a key, so that the same call sent again gets the same answer
-- and does nothing. The row is written by the transaction that did what was asked: so there is
-- never an effect without its answer, nor an answer without its effect. Kept for a day. Not in a
-- backup: what a restored database knows of a call is older than what its caller knows.
create table kept_answers (
  organisation_id uuid not null,
  -- A fingerprint of the token and the key that it named.
  call bytea not null,
  -- A fingerprint of what was asked: the method, the address and the body.
  request bytea not null,
  answered_at timestamptz not null,
  -- Encrypted, as it may hold what is shown once; null where it was too large to keep.
  answer bytea,
  primary key (organisation_id, call)
);
alter table kept_answers alter column answer set storage external;
create index kept_answers_at on kept_answers (answered_at);

-- IANA's list of registries' servers as it was read last; the version's own list holds until then.
create table registries (
  single boolean not null default true,
  list jsonb not null,
  read_at timestamptz not null,
  check (single),
  primary key (single)
);

-- PEOPLE AND ORGANISATIONS
-- Who signs in, how, and what they belong to.

create table organisations (
  id uuid not null,
  key bigint generated always as identity,
  name text not null,
  plan text not null,
  time_zone text not null,
  created_at timestamptz not null default now(),
  last_resort_full_at timestamptz not null default '1970-01-01 00:00:00+00',
  -- An organisation that its owner ends is kept for some days, in which that can be undone; then it
  -- is deleted, in bites.
  ends_at timestamptz,
  -- Since when nobody of the organisation wants to see its first steps any more.
  first_steps_hidden_at timestamptz,
  unique (key),
  primary key (id)
);
create index organisations_by_name on organisations (lower(name), key);
create index organisations_ending on organisations (ends_at) where (ends_at is not null);
alter table kept_answers add foreign key (organisation_id) references organisations on delete cascade;

create table users (
  id uuid not null,
  email text not null,
  name text not null default '',
  password_hash text not null,
  created_at timestamptz not null default now(),
  -- People come in. A session is a row, found by a fingerprint of what its browser's cookie holds.
  email_verified_at timestamptz,
  -- Who may see the operator's page, and what that page lists by name. Only the operator's command
  -- marks somebody.
  is_operator boolean not null default false,
  primary key (id)
);
create unique index users_email on users (lower(email));

create table memberships (
  organisation_id uuid not null,
  user_id uuid not null,
  role text not null,
  created_at timestamptz not null default now(),
  check (role in ('owner', 'admin', 'member', 'viewer')),
  primary key (organisation_id, user_id),
  foreign key (organisation_id) references organisations on delete cascade,
  foreign key (user_id) references users on delete cascade
);
alter table connections add foreign key (organisation_id, user_id) references memberships(organisation_id, user_id) on delete cascade;

-- Whoever was asked in: joins whoever signs in with it, once.
create table invitations (
  id uuid not null,
  organisation_id uuid not null,
  email text not null,
  role text not null,
  -- Null until its mail is made.
  fingerprint bytea,
  -- Who has its link has read the mail, so that the address is proven.
  mailed boolean not null default false,
  invited_by uuid,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  check (role in ('owner', 'admin', 'member', 'viewer')),
  unique (fingerprint),
  primary key (id),
  foreign key (invited_by) references users on delete set null,
  foreign key (organisation_id) references organisations on delete cascade
);
create unique index invitations_email on invitations (organisation_id, lower(email));

create table tokens (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  user_id uuid not null,
  name text not null,
  scope text not null,
  -- Whether it may also decide who belongs to the organisation: an owner made it for that.
  manage_members boolean not null default false,
  fingerprint bytea not null,
  shown text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  check (scope in ('read', 'read_write')),
  unique (fingerprint),
  unique (key),
  primary key (id),
  foreign key (organisation_id, user_id) references memberships(organisation_id, user_id) on delete cascade
);
create index tokens_owner on tokens (organisation_id, user_id);

create table sessions (
  id uuid not null,
  fingerprint bytea not null,
  user_id uuid not null,
  -- What its pages act in. When the membership ends, another one of the user's takes its place, if
  -- there is one.
  organisation_id uuid,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  -- When the user last proved to be who they are: at sign-in, and before dangerous acts.
  proven_at timestamptz not null,
  address text not null,
  device text not null,
  -- Who vouched for it, and what the provider calls its own session; null: signed in here.
  identity_id uuid,
  provider_session text,
  unique (fingerprint),
  primary key (id),
  foreign key (organisation_id, user_id) references memberships(organisation_id, user_id) on delete set null (organisation_id),
  foreign key (user_id) references users on delete cascade
);
create index sessions_membership on sessions (organisation_id, user_id);
create index sessions_user on sessions (user_id);
create index sessions_identity on sessions (identity_id) where (identity_id is not null);

-- Secrets that let somebody do one thing once (coordinator/people/one-time.ts). The link of a start
-- lives until it is used or the service starts again.
create table one_time_secrets (
  id uuid not null,
  kind text not null,
  -- Null for who is not signed in.
  user_id uuid,
  -- The address to be proven.
  email text,
  -- What waits for its address to be proven: {name, password_hash, organisation, time_zone, invitation},
  -- with the organisation to be made, or the invitation that was followed.
  account jsonb,
  -- Null until its mail is made.
  fingerprint bytea,
  -- The link by which the old mailbox ends a change of address.
  keep_fingerprint bytea,
  -- Where somebody signs in.
  provider_id uuid,
  expires_at timestamptz not null,
  check (kind in ('start link', 'operator link', 'second step', 'e-mail', 'password reset',
    'sign-up', 'add passkey', 'prove by passkey', 'sign in by passkey', 'provider sign-in',
    'logout token')),
  check ((email is null) = (kind not in ('e-mail', 'sign-up'))),
  check ((account is null) = (kind <> 'sign-up')),
  check ((provider_id is null) = (kind <> 'provider sign-in')),
  unique (fingerprint),
  unique (keep_fingerprint),
  primary key (id),
  foreign key (user_id) references users on delete cascade
);
create index one_time_secrets_user on one_time_secrets (user_id);
create index one_time_secrets_provider on one_time_secrets (provider_id) where (provider_id is not null);

-- The second step of signing in: a secret that an app on somebody's phone makes codes of, and codes
-- for the day when the phone is away.
create table second_factors (
  user_id uuid not null,
  -- Encrypted.
  secret bytea not null,
  created_at timestamptz not null,
  -- The half minute whose code was taken last: neither it nor an earlier one is taken again.
  last_step bigint not null,
  -- Fingerprints of the codes that were not used yet.
  recovery_codes bytea[] not null default '{}',
  primary key (user_id),
  foreign key (user_id) references users on delete cascade
);

-- Keys that somebody's phone, computer or stick keeps, and that sign in without a password. Only
-- the public halves are here.
create table passkeys (
  id uuid not null,
  user_id uuid not null,
  credential_id text not null,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  name text not null,
  -- Whether it is copied to other devices of its owner.
  is_synced boolean not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  unique (credential_id),
  primary key (id),
  foreign key (user_id) references users on delete cascade
);
create index passkeys_user on passkeys (user_id);

-- Where people sign in elsewhere (OpenID Connect): the provider of an organisation, or that of the
-- installation, whose client is in the settings.
create table sign_in_providers (
  id uuid not null,
  -- Null: the installation's.
  organisation_id uuid,
  issuer text not null,
  client_id text not null,
  -- Encrypted; null where the settings have it.
  client_secret bytea,
  -- The claim that names somebody's groups.
  groups_claim text not null default 'groups',
  -- Which role a group gives: [{group, role}] (coordinator/providers/group-roles.ts).
  group_roles jsonb not null default '[]',
  -- It vouches for addresses of this domain alone, once its DNS has said so.
  domain text,
  domain_token text,
  domain_proved_at timestamptz,
  -- Whether it alone opens an organisation, or all of them, for whoever is no owner.
  only_way boolean not null default false,
  -- By which it provisions people (SCIM), and since when. The installation's is in the settings.
  scim_fingerprint bytea,
  scim_since timestamptz,
  check ((scim_fingerprint is null) = (scim_since is null)),
  unique (scim_fingerprint),
  check (organisation_id is not null or (domain is null and client_secret is null)),
  check (organisation_id is null or not only_way or domain_proved_at is not null),
  check (domain_proved_at is null or (domain is not null and domain_token is not null)),
  unique (organisation_id),
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade
);
create unique index sign_in_providers_installation on sign_in_providers (issuer, client_id)
  where (organisation_id is null);
create unique index sign_in_providers_domain on sign_in_providers (domain)
  where (domain_proved_at is not null);

-- Which account a subject of a provider is. What it signed in ends with it.
create table identities (
  id uuid not null,
  provider_id uuid not null,
  subject text not null,
  user_id uuid not null,
  created_at timestamptz not null default now(),
  -- Encrypted: asks the provider whether the subject is still there. Null: it gave none.
  refresh_token bytea,
  checked_at timestamptz not null default now(),
  unique (provider_id, subject),
  unique (provider_id, user_id),
  primary key (id),
  foreign key (provider_id) references sign_in_providers on delete cascade,
  foreign key (user_id) references users on delete cascade
);
create index identities_user on identities (user_id);
create index identities_to_check on identities (checked_at) where (refresh_token is not null);
alter table one_time_secrets add foreign key (provider_id) references sign_in_providers on delete cascade;
alter table sessions add foreign key (identity_id) references identities on delete cascade;

-- Whom a provider provisions (SCIM), as it says it (coordinator/providers/scim/attributes.ts).
create table scim_users (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  provider_id uuid not null,
  -- Null: no group of theirs gives them a role yet.
  user_id uuid,
  said jsonb not null,
  -- Of scim_groups.
  groups uuid[] not null default '{}',
  created_at timestamptz not null,
  changed_at timestamptz not null,
  unique (provider_id, user_id),
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade,
  foreign key (provider_id) references sign_in_providers on delete cascade,
  foreign key (user_id) references users on delete set null
);
create unique index scim_users_name on scim_users (provider_id, lower(said ->> 'userName'));
create index scim_users_organisation on scim_users (organisation_id, provider_id, key);
create index scim_users_groups on scim_users using gin (groups);
create index scim_users_user on scim_users (user_id) where (user_id is not null);

-- Whose account it was when a provider removed somebody. Whoever has its address later is another
-- person, unless the provider calls them the same.
create table scim_leavers (
  provider_id uuid not null,
  user_id uuid not null,
  -- Of scim_users, where there may be none any more.
  person_id uuid not null,
  external_id text,
  primary key (provider_id, user_id),
  foreign key (provider_id) references sign_in_providers on delete cascade,
  foreign key (user_id) references users on delete cascade
);
create index scim_leavers_user on scim_leavers (user_id);

create table scim_groups (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  provider_id uuid not null,
  said jsonb not null,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade,
  foreign key (provider_id) references sign_in_providers on delete cascade
);
create unique index scim_groups_name on scim_groups (provider_id, (said ->> 'displayName'));
create index scim_groups_organisation on scim_groups (organisation_id, provider_id, key);

-- What the signing-in of assistants remembers between two requests, whichever coordinators take
-- them: codes, tokens, clients that registered themselves, consents under way. What lets somebody
-- in is found by a fingerprint and stored nowhere.
create table oauth_records (
  model text not null,
  fingerprint bytea not null,
  connection_id uuid,
  payload jsonb not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  consumed_at timestamptz,
  primary key (model, fingerprint),
  foreign key (connection_id) references connections on delete cascade
);
create index oauth_records_by_end on oauth_records (expires_at) where (expires_at is not null);
create index oauth_records_connection on oauth_records (connection_id) where (connection_id is not null);

-- What the registry of a domain said last, by RDAP. It is public, so that one answer serves all
-- organisations.
create table registrations (
  domain text not null,
  answer jsonb not null,
  asked_at timestamptz not null,
  primary key (domain)
);
create index registrations_asked on registrations (asked_at);

-- Who changed what, through what and from where; written by the gate with every change, in the
-- change's own transaction.
create table audit_log (
  key bigint generated always as identity,
  at timestamptz not null,
  -- Null for what belongs to a person or to the installation.
  organisation_id uuid,
  user_id uuid,
  -- The e-mail address at that time, or what else acted.
  who text not null,
  through text not null,
  token_name text,
  operation text not null,
  -- Without secrets: {about, before, after} or {about, sent}.
  changed jsonb not null,
  -- Null where no network lies between.
  address text,
  check (through in ('page', 'api', 'assistant', 'operator')),
  primary key (key),
  foreign key (organisation_id) references organisations on delete cascade,
  foreign key (user_id) references users on delete set null
);
create index audit_log_at on audit_log (at);
create index audit_log_organisation on audit_log (organisation_id, key);
create index audit_log_user on audit_log (user_id, key);

-- Addresses that want no more mail of an organisation's alerts.
create table suppressions (
  organisation_id uuid not null,
  address text not null,
  at timestamptz not null,
  primary key (organisation_id, address),
  foreign key (organisation_id) references organisations on delete cascade
);

-- What an organisation moves in from elsewhere: first a draft, then what was made of it, so that it
-- can be undone for an hour.
create table imports (
  id uuid not null,
  organisation_id uuid not null,
  source text not null,
  -- Sealed: old ping addresses are secrets.
  objects bytea not null,
  omissions jsonb not null,
  variables jsonb not null,
  created_at timestamptz not null,
  applied_at timestamptz,
  -- Kind and id of everything that it created.
  made jsonb not null default '[]',
  undone_at timestamptz,
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade
);
create index imports_of on imports (organisation_id);

-- PROBES AND PLACES
-- Who checks, from where, and what the network knows of them.

-- Private probes belong to places: the probes of one share its monitors, and one checks for another
-- that is lost. A place has the id of its first probe, so that monitors that name that probe name
-- its place.
create table places (
  id uuid not null,
  organisation_id uuid not null,
  name text not null,
  continent text not null,
  created_at timestamptz not null default now(),
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade
);
create index places_of on places (organisation_id);

create table probes (
  id uuid not null,
  key integer generated always as identity,
  organisation_id uuid,
  name text not null,
  continent text not null,
  -- Public nkeys that may speak for it now; a rotation keeps the older one until `until`
  -- (milliseconds): [{key, until}].
  keys jsonb not null default '[]',
  -- What its own host allows it to reach beside global addresses, as it last reported; decides
  -- whether a private target can be checked.
  allowed_cidrs text[] not null default '{}'::text[],
  seal_key text,
  ear text,
  version text,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  last_seen_at timestamptz,
  quarantined_at timestamptz,
  quarantine_reason text,
  -- How many results a probe has said that it had to drop since it was started, and which start
  -- that was.
  dropped bigint not null default 0,
  dropped_session uuid,
  -- By how much a probe corrects the clock of its host, as it last said; null where it has not said
  -- so.
  clock_offset_ms integer,
  -- A public probe that cannot be on the continent that it claims confirms nothing (rule 16) until
  -- the operator says that it can: of that continent alone.
  doubted_at timestamptz,
  doubt_reason text,
  place_trusted_as text,
  request_key jsonb,
  addresses text[] not null default '{}'::text[],
  -- How a probe reaches the bus, and the autonomous system that its requests come from.
  way text,
  origin_as bigint,
  -- Kinds that a probe checks besides https, DNS and heartbeats, as it reports them with its
  -- presence.
  kinds text[] not null default '{}'::text[],
  -- Null: a public probe.
  place_id uuid,
  -- Where on its continent a public probe is; null: not said. Public probes of one continent and
  -- region are a place.
  region text,
  unique (key),
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade,
  foreign key (place_id) references places on delete cascade
);
create unique index probes_name_key on probes (COALESCE(organisation_id, '00000000-0000-0000-0000-000000000000'::uuid), name) where (revoked_at is null);

-- Join tokens: each lets one host become one probe. Stored as a fingerprint; once spent, the row
-- says to which key, so that the same host can ask again.
create table probe_invitations (
  id uuid not null,
  key bigint generated always as identity,
  -- Null: a public probe, which only the operator invites.
  organisation_id uuid,
  name text not null,
  continent text not null,
  fingerprint bytea not null,
  -- How the token begins, to know it by.
  shown text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  used_at timestamptz,
  used_key text,
  probe_id uuid,
  -- The place that the probe joins; null: one of its own.
  place_id uuid,
  region text,
  unique (fingerprint),
  unique (key),
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade,
  foreign key (place_id) references places on delete cascade,
  foreign key (probe_id) references probes on delete cascade
);
create index probe_invitations_of on probe_invitations (organisation_id, key);

-- Keys of probes that were rotated out or revoked: the bus refuses what was issued to them before.
create table revoked_keys (
  key text not null,
  revoked_at timestamptz not null default now(),
  primary key (key)
);

-- What each coordinator knows of a probe whose failures are refuted, from the monitors that it
-- decides about, so that all of them together judge the probe. Rows stand only while anybody has a
-- refutation to tell; those of a coordinator that is gone go with it.
create table refutations (
  coordinator_id uuid not null,
  probe_id uuid not null,
  -- Hashes of hosts that the probe checks, and those of them that are refuted with until when that
  -- counts.
  share jsonb not null,
  primary key (coordinator_id, probe_id),
  foreign key (probe_id) references probes on delete cascade
);
create index refutations_probe on refutations (probe_id);

-- When an organisation tried something lately that it may do so often only: a config (rule 41: ten
-- times a minute), a channel or webhook (ten an hour). What was tried, and what it showed, is stored
-- nowhere.
create table trials (
  organisation_id uuid not null,
  kind text not null,
  at timestamptz not null,
  check (kind in ('config', 'channel')),
  foreign key (organisation_id) references organisations on delete cascade
);
create index trials_by_age on trials (at);
create index trials_recent on trials (organisation_id, kind, at);

-- MONITORS AND GROUPS
-- What is checked, in which group, and what it amounts to now.

create table groups (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  name text not null,
  -- What names are compared by: trimmed, without case.
  name_folded text not null,
  description text,
  created_at timestamptz not null default now(),
  external_id text,
  unique (organisation_id, id),
  unique (organisation_id, name_folded),
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade
);
create unique index groups_external_id on groups (organisation_id, external_id) where (external_id is not null);
create index groups_page on groups (organisation_id, key);

create table monitors (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  partition smallint not null,
  name text not null,
  type text not null,
  target text not null,
  interval_s integer not null,
  enabled boolean not null default true,
  -- As sent, with "***" where a secret stands; the secrets themselves are in `secrets`, encrypted.
  config jsonb not null default '{}',
  secrets bytea,
  group_id uuid,
  affects_group_status boolean not null default true,
  -- Goes up with every change of what is checked: results of an older config decide nothing.
  config_version integer not null default 1,
  created_at timestamptz not null default now(),
  paused_at timestamptz,
  -- What programs call a monitor or a group in their own files, so that asking for it again finds
  -- it; and words that monitors are sorted by.
  external_id text,
  tags text[] not null default '{}'::text[],
  -- From where a monitor is checked, resolved from its config: a continent's name ("Europe": any
  -- public probe there), a region of one ("Europe/Frankfurt": its public probes), or the id of a
  -- private place of its organisation. Null: as its config's `continents` and `probe` say.
  places text[],
  -- When what it checks was last edited: the gap that follows begins anew, others keep the time
  -- since when a monitor is up (rule 18). Of the precision of the engine, which writes the same
  -- moment to the ledger. Otherwise as in migration 075.
  edited_at timestamptz,
  -- What to do when it fails, as its people wrote it: shown first on an incident.
  runbook text,
  -- Whose outage explains its own (rule 47). No references, as a list has none: who deletes one takes
  -- it out of these.
  depends_on_monitors uuid[] not null default '{}',
  depends_on_groups uuid[] not null default '{}',
  check ((partition >= 0) and (partition <= 31)),
  check (type in ('https', 'dns', 'heartbeat', 'tcp', 'tls', 'icmp', 'domain', 'websocket', 'grpc')),
  unique (key),
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade,
  foreign key (organisation_id, group_id) references groups(organisation_id, id) on delete set null (group_id)
);
create unique index monitors_external_id on monitors (organisation_id, external_id) where (external_id is not null);
create index monitors_dependent on monitors (organisation_id) where (depends_on_monitors <> '{}' or depends_on_groups <> '{}');
create index monitors_of_group on monitors (group_id, key) where (group_id is not null);
create index monitors_page on monitors (organisation_id, key);
create index monitors_partition on monitors (partition, key);
create index monitors_tags on monitors using gin (tags);
create index monitors_type on monitors (organisation_id, type, key);

-- How each monitor is now, so that lists count, filter and sort by it without looking into its
-- history. The database keeps it itself: whatever changes what it is made of (the monitor, its
-- incidents, its ledger) brings it up to date in the same transaction, and a restored backup too. A
-- page shows of each row what coordinator/monitors/status.ts says; this says the same but for the
-- moment in which silence is noticed.
create table monitor_status (
  monitor_id uuid not null,
  organisation_id uuid not null,
  monitor_key bigint not null,
  group_id uuid,
  status text not null,
  since timestamptz not null,
  -- Whether anybody has ever seen it: the first look closes an unknown stretch, which housekeeping
  -- forgets in time.
  seen boolean not null,
  name_folded text not null collate pg_catalog."C",
  -- Where it stands in a list by groups: the group's name, then its own; those without a group come
  -- last.
  place text not null collate pg_catalog."C",
  -- What a search looks in: name, target and group.
  words text not null,
  -- The mean of the newest hour that is rolled up.
  response_ms real,
  -- The status of a group asks whether there is any member of a status that counts for it, not how
  -- many.
  affects boolean not null default true,
  check (status in ('pending', 'up', 'verifying', 'down', 'paused')),
  primary key (monitor_id),
  foreign key (monitor_id) references monitors on delete cascade
);
create index monitor_status_changes on monitor_status (organisation_id, since, monitor_key);
create index monitor_status_key on monitor_status (monitor_key);
create index monitor_status_names on monitor_status (organisation_id, name_folded, monitor_key);
-- Programs list monitors by status, name and newest change, by type and group: each list is read
-- from its own index, and goes on after the row that it gave last, so each ends with the running
-- number.
create index monitor_status_page on monitor_status (organisation_id, status, monitor_key);
create index monitor_status_place on monitor_status (organisation_id, place);
create index monitor_status_standing on monitor_status (group_id, affects, status) where (group_id is not null);
create index monitor_status_unseen on monitor_status (monitor_key) where (not seen);

-- How many monitors of an organisation are in each group, are of each kind and have each tag: pages
-- and the filters of a list tell it. To count a hundred thousand for each page would take longer
-- than all else on it, so the database keeps it itself, in the same transaction. Only who makes,
-- deletes, moves or tags monitors writes here.
create table monitor_counts (
  organisation_id uuid not null,
  facet text not null,
  -- Of a group, its id; all zeros: those in no group.
  value text not null,
  monitors integer not null,
  check (facet in ('group', 'kind', 'tag')),
  primary key (organisation_id, facet, value)
);

-- Membership in groups over time (rule 26: cover follows membership).
create table group_memberships (
  organisation_id uuid not null,
  monitor_id uuid not null,
  group_id uuid not null,
  began_at timestamptz not null,
  ended_at timestamptz,
  foreign key (monitor_id) references monitors on delete cascade
);
create index group_memberships_monitor on group_memberships (monitor_id);
create unique index group_memberships_open on group_memberships (monitor_id) where (ended_at is null);

-- Everything is quiet until then (rule 36). Kept for the stories of what it held.
create table mutes (
  id uuid not null,
  organisation_id uuid not null,
  began_at timestamptz not null,
  until timestamptz not null,
  -- When somebody ended it before its time.
  ended_at timestamptz,
  muted_by uuid,
  monitor_id uuid,
  -- It ends with the outage that is open when it begins, or with the next one.
  until_resolved boolean not null default false,
  primary key (id),
  foreign key (monitor_id) references monitors on delete cascade,
  foreign key (muted_by) references users on delete set null,
  foreign key (organisation_id) references organisations on delete cascade
);
create index mutes_by_age on mutes (until);
create index mutes_monitor on mutes (monitor_id, until) where (monitor_id is not null);
create index mutes_organisation on mutes (organisation_id, until);

-- Deleted monitors stay here for a week. All their rows move, so that no other statement has to
-- leave them out. Chunks and rows of days refer to a monitor by its key and stay where they are, until
-- it is deleted for ever (forgotten_monitors).
create table deleted_monitors (
  key bigint generated always as identity,
  monitor_id uuid not null,
  monitor_key bigint not null,
  organisation_id uuid not null,
  name text not null,
  type text not null,
  target text not null,
  -- Of the precision of the engine, which writes the same moment to the ledger.
  deleted_at timestamptz not null default date_trunc('milliseconds'::text, now()),
  -- As that user or token was called then.
  deleted_by text not null,
  unique (key),
  primary key (monitor_id),
  foreign key (organisation_id) references organisations on delete cascade
);
create index deleted_monitors_old on deleted_monitors (deleted_at);
create index deleted_monitors_page on deleted_monitors (organisation_id, deleted_at);

-- Histories of deleted monitors, removed in small bites so that deleting holds nobody up.
create table forgotten_monitors (
  monitor_key bigint not null,
  monitor_id uuid not null,
  forgotten_at timestamptz not null default now(),
  primary key (monitor_key)
);

-- A row each, because a monitor's incidents with their evidence can be too large for one value.
create table deleted_rows (
  id bigint generated always as identity,
  monitor_id uuid not null,
  source text not null,
  "row" jsonb not null,
  -- What is encrypted in it, apart: a rotation of keys must find it.
  box bytea,
  primary key (id),
  foreign key (monitor_id) references deleted_monitors(monitor_id) on delete cascade
);
create index deleted_rows_boxes on deleted_rows (id) where (box is not null);
create index deleted_rows_monitor on deleted_rows (monitor_id, source);

-- Which objects each configuration file manages, by their keys in it. No reference to the objects:
-- they live in five tables, and a deleted monitor leaves its own for a week. What no longer exists
-- is not managed.
create table file_objects (
  organisation_id uuid not null,
  file text not null,
  kind text not null,
  key text not null,
  object_id uuid not null,
  primary key (organisation_id, file, kind, key),
  foreign key (organisation_id) references organisations on delete cascade
);
-- One file at most manages an object.
create unique index file_objects_of on file_objects (organisation_id, object_id);

-- The certificate that each monitor's target showed last.
create table certificates (
  monitor_id uuid not null,
  organisation_id uuid not null,
  fingerprint text not null,
  issuer text not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  seen_at timestamptz not null,
  primary key (monitor_id),
  foreign key (monitor_id) references monitors on delete cascade,
  foreign key (organisation_id) references organisations on delete cascade
);
create index certificates_end on certificates (organisation_id, ends_at);

-- By what the newest checks that passed were served: what monitors share tells why several fail.
create table served (
  monitor_id uuid not null,
  organisation_id uuid not null,
  addresses text[] not null,
  server text,
  redirect text,
  seen_at timestamptz not null,
  primary key (monitor_id),
  foreign key (monitor_id) references monitors on delete cascade,
  foreign key (organisation_id) references organisations on delete cascade
);

-- HEARTBEATS
-- Pings of jobs, and the tokens and keys by which they come.

create table beat_tokens (
  fingerprint bytea not null,
  organisation_id uuid not null,
  monitor_id uuid not null,
  token bytea not null,
  created_at timestamptz not null default now(),
  -- Set when the token was rotated out: it still counts until then.
  until timestamptz,
  primary key (fingerprint),
  foreign key (monitor_id) references monitors on delete cascade
);
create index beat_tokens_monitor on beat_tokens (monitor_id);

-- The last beats of a heartbeat monitor, with body and run time, for its page.
create table beats (
  id uuid not null,
  monitor_id uuid not null,
  kind text not null,
  exit_code smallint,
  at timestamptz not null,
  rid uuid,
  run_ms bigint,
  method text not null,
  body text not null,
  ear text not null,
  primary key (id),
  foreign key (monitor_id) references monitors on delete cascade
);
create index beats_monitor on beats (monitor_id, at);

-- What the beats of a monitor come to (shared/checks/heartbeat/state.ts): the bus gets it back from
-- here when it was wiped.
create table beat_states (
  monitor_id uuid not null,
  state jsonb not null,
  primary key (monitor_id),
  foreign key (monitor_id) references monitors on delete cascade
);

-- Ping keys of an organisation: under the address of one, each heartbeat that has an external id
-- takes pings.
create table ping_keys (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  name text not null,
  -- How it begins, to know it by.
  shown text not null,
  -- Of the ping key itself, which is not kept.
  fingerprint bytea not null,
  -- By which ping receivers know that it may create monitors.
  creating bytea not null,
  created_at timestamptz not null,
  -- Set when it was rotated or ended: it still counts until then.
  until timestamptz,
  unique (creating),
  unique (fingerprint),
  unique (key),
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade
);
create index ping_keys_of on ping_keys (organisation_id);

-- Every heartbeat with an external id under every ping key: derived from both. No reference to
-- monitors: what a deleted monitor leaves in the trash has none, and one that is restored gets its
-- own anew.
create table ping_key_addresses (
  fingerprint bytea not null,
  organisation_id uuid not null,
  ping_key_id uuid not null,
  monitor_id uuid not null,
  until timestamptz,
  primary key (fingerprint),
  foreign key (organisation_id) references organisations on delete cascade,
  foreign key (ping_key_id) references ping_keys on delete cascade
);
create index ping_key_addresses_key on ping_key_addresses (ping_key_id);
create index ping_key_addresses_monitor on ping_key_addresses (monitor_id);

-- Ping addresses that monitors brought from elsewhere, as /ping/<uuid>: the fingerprint alone; the
-- alias itself is a secret of the monitor's config. One belongs to one monitor of all
-- organisations. No reference to monitors: one in the trash keeps its alias, so that it can be
-- restored with it.
create table ping_aliases (
  fingerprint bytea not null,
  organisation_id uuid not null,
  monitor_id uuid not null,
  unique (monitor_id),
  primary key (fingerprint),
  foreign key (organisation_id) references organisations on delete cascade
);
create index ping_aliases_of on ping_aliases (organisation_id);

-- PARTITIONS
-- Who decides for which monitors, and how far.

-- Coordinators that are alive, so that each takes its share of the partitions.
create table coordinators (
  id uuid not null,
  version text not null,
  seen_at timestamptz not null,
  -- Whether a coordinator has the bus: one that has not is no help to the others.
  has_bus boolean not null default true,
  primary key (id)
);
alter table refutations add foreign key (coordinator_id) references coordinators on delete cascade;

-- One coordinator owns a partition at a time; the epoch fences every write of an older owner.
create table leases (
  partition smallint not null,
  owner uuid,
  epoch bigint not null default 0,
  expires_at timestamptz not null default '1970-01-01 00:00:00+00',
  primary key (partition)
);
insert into leases (partition) select generate_series(0, 31);

-- What the owner of a partition knew of its monitors (the newest usable result of each probe …),
-- written behind as one piece; what came after it is read from the stored checks. Only a start reads it, and
-- does without if need be.
create table checkpoints (
  partition smallint not null,
  taken_at timestamptz not null,
  state bytea not null,
  -- The newest batch of the journal that it knows.
  journal_id bigint not null,
  primary key (partition)
);

-- How far the results of a probe's spool are committed, for each partition: what tells a repeat
-- from a new result.
create table watermarks (
  probe_key integer not null,
  generation uuid not null,
  partition smallint not null,
  seq bigint not null,
  changed_at timestamptz not null default now(),
  primary key (probe_key, generation, partition),
  foreign key (probe_key) references probes(key) on delete cascade
);

-- How often the key of a place in the network (a continent, or one private probe) was taken out of
-- use: it is derived with the place's epoch. A place without a row has epoch 1. Epochs are times in
-- milliseconds.
create table seal_epochs (
  place text not null,
  epoch bigint not null,
  primary key (place)
);

-- RESULTS
-- Every check: in the journal first, in chunks once its hour is over, summed by the day.

-- Batches of results as they came, with what was decided of each result. A repeat is told by the
-- watermark.
create table journal (
  hour timestamptz not null,
  partition smallint not null,
  -- A partition has one writer, so its ids are in order of commit.
  id bigint not null,
  probe_key integer not null,
  data bytea not null,
  signature bytea,
  -- What it is over, when several batches share it: 32 bytes for each. With the first of them that
  -- was committed.
  digests bytea
) partition by range (hour);
create sequence journal_ids owned by journal.id;
alter table journal alter column data set storage external;
alter table journal alter column id set default nextval('journal_ids'::regclass);
create index journal_partition on journal (partition, id);

-- What of a partition arrived before is in chunks.
create table sealed_hours (
  partition smallint not null,
  until timestamptz not null,
  -- The newest hour of which something is in chunks, and how many checks.
  newest timestamptz not null default 'epoch',
  checks bigint not null default 0,
  primary key (partition)
);
insert into sealed_hours (partition, until) select n, 'epoch' from generate_series(0, 31) n;

-- The checks of a monitor and an hour (or a quarter of one) in one value:
-- coordinator/results/chunk.ts says what it holds. Days are made ahead and dropped whole.
create table chunks (
  monitor_key bigint not null,
  at timestamptz not null,
  data bytea not null,
  primary key (monitor_key, at)
) partition by range (at);
alter table chunks alter column data set storage external;

-- A monitor's day by hour and place, with sketches of its response times
-- (coordinator/results/summary.ts). By day first: a day's rows are made one after the other and
-- deleted together, and a year of a monitor is 365 short searches either way.
create table days (
  day date not null,
  monitor_key bigint not null,
  -- By place: the whole day, which a year is read from; and by the hour.
  whole bytea not null,
  hours bytea not null,
  primary key (day, monitor_key)
) with (toast_tuple_target='8160', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='10000', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='10000');
alter table days alter column whole set storage external;
alter table days alter column hours set storage external;

-- Days of monitors whose chunks changed since their row was made.
create table stale_days (
  day date not null,
  monitor_key bigint not null,
  since timestamptz not null default now(),
  primary key (day, monitor_key)
) with (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='10000');

-- A monitor's month, all places together, which reports of long periods are read from; made of its
-- days (coordinator/results/months.ts).
create table months (
  month date not null,
  monitor_key bigint not null,
  cells bytea not null,
  primary key (month, monitor_key)
);

-- Months of monitors whose days changed since their row was made.
create table stale_months (
  month date not null,
  monitor_key bigint not null,
  primary key (monitor_key, month)
);
create index stale_months_month on stale_months (month);

-- INCIDENTS
-- Outages, what was seen of them, and what people say of them.

create table incidents (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  monitor_id uuid not null,
  cause jsonb,
  started_at timestamptz not null,
  confirmed_at timestamptz,
  resolved_at timestamptz,
  seen_probe text,
  seen_continent text,
  confirmed_probe text,
  confirmed_continent text,
  note text,
  scope text,
  layer text,
  -- What the state machine needs to go on after a restart.
  progress jsonb not null default '{}',
  frozen_at timestamptz,
  acknowledged_at timestamptz,
  acknowledged_by uuid,
  -- In words: a person's name, or the channel whose link was followed.
  acknowledged_as text,
  -- Which private place saw and which confirmed an incident; null: a public probe. Two public ones
  -- are on different continents, as ever; two private ones are different places; one of each never
  -- confirm each other. Rows of before have no places, and fit.
  seen_place uuid,
  confirmed_place uuid,
  constraint confirmed_from_another_place check ((confirmed_continent is null) or
  case
  when ((seen_place is null) and (confirmed_place is null)) then (confirmed_continent <> seen_continent)
  else ((seen_place is not null) and (confirmed_place is not null) and (seen_place <> confirmed_place))
  end),
  constraint confirmed_not_before_started check ((confirmed_at is null) or (confirmed_at >= started_at)),
  constraint resolved_not_before_started check ((resolved_at is null) or (resolved_at >= started_at)),
  unique (key),
  primary key (id),
  foreign key (acknowledged_by) references users on delete set null,
  foreign key (monitor_id) references monitors on delete cascade,
  foreign key (organisation_id) references organisations on delete cascade
);
create index incidents_monitor on incidents (monitor_id, started_at);
create unique index incidents_one_open on incidents (monitor_id) where (resolved_at is null);
-- How many incidents are open stands beside every page.
create index incidents_open on incidents (organisation_id) where (resolved_at is null);
create index incidents_page on incidents (organisation_id, key);
-- The incidents of an organisation that ended of late, however many ended before.
create index incidents_resolved on incidents (organisation_id, resolved_at);
-- Those that are to be frozen once more, or for the first time.
create index incidents_unfrozen on incidents (resolved_at) where ((frozen_at is null) or (resolved_at is null) or (frozen_at < resolved_at));

-- What the failing checks themselves saw, and what every other continent saw when asked (rule 15).
-- What incidents that began together have in common, as it was found in what checks saw.
create table causes (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  kind text not null,
  value text not null,
  -- How its members fail: what fails otherwise does not join.
  manners text[] not null,
  began_at timestamptz not null,
  found_at timestamptz not null,
  ended_at timestamptz,
  -- Of the monitors that share it, how many passed when it was found; and of all others, how many
  -- failed then, and how many there were.
  passing integer not null,
  others_failing integer not null,
  others integer not null,
  unique (key),
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade
);
create index causes_open on causes (organisation_id) where (ended_at is null);
create index causes_page on causes (organisation_id, key);

create table cause_members (
  incident_id uuid not null,
  cause_id uuid not null,
  organisation_id uuid not null,
  primary key (incident_id),
  foreign key (cause_id) references causes on delete cascade,
  foreign key (incident_id) references incidents on delete cascade,
  foreign key (organisation_id) references organisations on delete cascade
);
create index cause_members_of on cause_members (cause_id);

create table incident_evidence (
  incident_id uuid not null,
  part text not null,
  continent text not null,
  probe text not null,
  at timestamptz not null,
  outcome smallint not null,
  took_ms real not null,
  cause jsonb,
  phases jsonb,
  evidence jsonb,
  check (part in ('seen', 'confirmed', 'matrix')),
  primary key (incident_id, part, continent),
  foreign key (incident_id) references incidents on delete cascade
);
COMMENT on column incident_evidence.continent is 'a continent, and behind it the private place, if one saw it';

-- What the continents saw during an incident (rule 42): copied from the results when it ends,
-- because those are dropped by the day. points: [[at in ms, continent, probe, outcome, took_ms,
-- cause_class], …] in order of time. whole: nothing was thinned out.
create table incident_samples (
  incident_id uuid not null,
  points jsonb not null,
  whole boolean not null,
  primary key (incident_id),
  foreign key (incident_id) references incidents on delete cascade
);

-- What people write about an incident.
create table incident_notes (
  id uuid not null,
  incident_id uuid not null,
  organisation_id uuid not null,
  written_by uuid,
  written_at timestamptz not null,
  text text not null,
  primary key (id),
  foreign key (incident_id) references incidents on delete cascade,
  foreign key (written_by) references users on delete set null
);
create index incident_notes_incident on incident_notes (incident_id, written_at);

-- Who has had an incident, in order. The present owner stands in `incidents` (acknowledged_at,
-- acknowledged_by, acknowledged_as).
create table incident_owners (
  id bigint generated always as identity,
  incident_id uuid not null,
  organisation_id uuid not null,
  at timestamptz not null,
  event text not null,
  -- Names as they were then: of the owner, and of the person who assigned or handed back.
  owner text not null,
  by_name text,
  check (event in ('acknowledged', 'assigned', 'handed_back')),
  primary key (id),
  foreign key (incident_id) references incidents on delete cascade,
  foreign key (organisation_id) references organisations on delete cascade
);
create index incident_owners_incident on incident_owners (incident_id, id);

-- Links that show one incident, or a report, to whoever has them (coordinator/shares/). Only a hash
-- of the secret is kept.
create table shares (
  id uuid not null,
  organisation_id uuid not null,
  -- Either an incident, or what a report is asked, as its operation takes it.
  incident_id uuid,
  report jsonb,
  -- The report's, as it was then.
  title text,
  fingerprint bytea not null,
  shared_by uuid,
  shared_at timestamptz not null default now(),
  expires_at timestamptz,
  check (num_nonnulls(incident_id, report) = 1),
  check ((title is null) = (report is null)),
  unique (fingerprint),
  unique (incident_id),
  primary key (id),
  foreign key (incident_id) references incidents on delete cascade,
  foreign key (organisation_id) references organisations on delete cascade,
  foreign key (shared_by) references users on delete set null
);
create index shares_organisation on shares (organisation_id, shared_at) where report is not null;

-- A report that a member asked to be mailed whenever a week or month is over. It goes with the
-- membership.
create table report_mails (
  id uuid not null,
  organisation_id uuid not null,
  user_id uuid not null,
  every text not null,
  -- What it is asked, as its operation takes it, without the period.
  report jsonb not null,
  -- The report's, as it was then.
  title text not null,
  created_at timestamptz not null,
  -- At eight by the clock of the organisation, on the first day after the period.
  next_at timestamptz not null,
  check (every in ('week', 'month')),
  primary key (id),
  foreign key (organisation_id, user_id) references memberships on delete cascade
);
create unique index report_mails_report
  on report_mails (organisation_id, user_id, md5(report::text));
create index report_mails_due on report_mails (next_at);

-- What an organisation writes about an incident afterwards. Published, the status pages that show
-- the incident show it too.
create table post_mortems (
  incident_id uuid not null,
  organisation_id uuid not null,
  text text not null,
  written_by uuid,
  written_at timestamptz not null,
  published_at timestamptz,
  primary key (incident_id),
  foreign key (incident_id) references incidents on delete cascade,
  foreign key (organisation_id) references organisations on delete cascade,
  foreign key (written_by) references users on delete set null
);

-- The operator's word that a confirmed outage was none. It outlives the incident, whose day it
-- counts for.
create table false_outages (
  incident_id uuid not null,
  day date not null,
  said_at timestamptz not null default now(),
  primary key (incident_id)
);

-- Time that is not simply up or down: `paused` and `unknown` intervals of a monitor, with the
-- interval then in force.
create table ledger (
  id bigint generated always as identity,
  monitor_id uuid not null,
  kind text not null,
  began_at timestamptz not null,
  ended_at timestamptz,
  interval_s integer not null,
  check ((ended_at is null) or (ended_at >= began_at)),
  check (kind in ('paused', 'unknown')),
  primary key (id),
  foreign key (monitor_id) references monitors on delete cascade
);
create index ledger_by_end on ledger (ended_at) where (ended_at is not null);
create unique index ledger_open on ledger (monitor_id, kind) where (ended_at is null);
create unique index ledger_row on ledger (monitor_id, kind, began_at);

-- A promise of uptime, and the error budget that it leaves (rule 52): of the monitors to which all
-- that it names applies.
create table objectives (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  name text not null,
  monitor_id uuid,
  group_id uuid,
  tag text,
  -- In percent.
  target double precision not null,
  -- Of response times: within how long that share of passing checks is to respond.
  latency_ms integer,
  period text not null,
  on_status_pages boolean not null default false,
  created_at timestamptz not null,
  check ((target > 0) and (target < 100)),
  check (latency_ms between 1 and 120000),
  check (period in ('30d', 'month')),
  unique (key),
  primary key (id),
  foreign key (monitor_id) references monitors on delete cascade,
  foreign key (group_id) references groups on delete cascade,
  foreign key (organisation_id) references organisations on delete cascade
);
create index objectives_page on objectives (organisation_id, key);
create index objectives_monitor on objectives (monitor_id) where (monitor_id is not null);
create index objectives_group on objectives (group_id) where (group_id is not null);

-- What passing checks warn of (rule 44), and objectives (rule 52): a row from the beginning of a
-- warning to its end and after.
create table warnings (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  monitor_id uuid not null,
  -- Of a budget that burns: the monitor is the one that was down most. No reference, because the end
  -- of a warning whose objective is gone is told too.
  objective_id uuid,
  code text not null,
  -- What its sentence is made of; never text of a target.
  details jsonb not null,
  -- Start of the first check that saw it, of the check that confirmed it, and of the one with which
  -- it ended.
  began_at timestamptz not null,
  confirmed_at timestamptz not null,
  ended_at timestamptz,
  constraint warning_confirmed_not_before_began check (confirmed_at >= began_at),
  constraint warning_ended_not_before_confirmed check ((ended_at is null) or (ended_at >= confirmed_at)),
  unique (key),
  primary key (id),
  foreign key (monitor_id) references monitors on delete cascade,
  foreign key (organisation_id) references organisations on delete cascade
);
create index warnings_ended on warnings (ended_at) where (ended_at is not null);
create index warnings_monitor on warnings (monitor_id, began_at);
create unique index warnings_one_open on warnings (monitor_id, code) where (ended_at is null and objective_id is null);
create unique index warnings_objective on warnings (objective_id, code) where (ended_at is null and objective_id is not null);
create index warnings_open on warnings (organisation_id, code) where (ended_at is null);

-- What changed, in an order that never gets a row in between: by the transaction that wrote it,
-- then as it wrote. A reader is told of a row only when every transaction that began to write
-- before its own is over; so whoever goes on after a row that was told misses nothing, whichever
-- commits last. Not in a backup: the numbers of transactions are this database's own.
create table events (
  id bigint generated always as identity,
  event_id uuid not null default gen_random_uuid(),
  organisation_id uuid not null,
  written_by xid8 not null default pg_current_xact_id(),
  at timestamptz not null default now(),
  what text not null,
  monitor_id uuid,
  incident_id uuid,
  group_id uuid,
  window_id uuid,
  -- Of the thing, as it was called then.
  name text,
  warning text,
  cause_id uuid,
  primary key (id)
);
create index events_at on events (at);
-- Charts show the newest deploys of a window; events of other kinds are read by transaction.
create index events_deploys on events (organisation_id, at) where (what = 'deploy'::text);
create index events_page on events (organisation_id, written_by, id);

-- What undoing puts back, and how far the end has come.
create table endings (
  organisation_id uuid not null,
  asked_at timestamptz not null,
  asked_by uuid,
  -- The monitors that were not paused before.
  paused uuid[] not null,
  -- The mute that there was, if there was one.
  muted_until timestamptz,
  muted_by uuid,
  -- When its owners were mailed for the last time.
  warned_at timestamptz,
  -- From here on nothing can be undone.
  begun_at timestamptz,
  primary key (organisation_id),
  foreign key (asked_by) references users on delete set null,
  foreign key (muted_by) references users on delete set null,
  foreign key (organisation_id) references organisations on delete cascade
);

-- MAINTENANCE
-- Windows, and what they cover.

create table maintenance_windows (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  name text,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  -- The local time that repeats; where it did not exist on the first day, starts_at is later than
  -- it.
  local_start timestamp without time zone not null,
  rrule text,
  -- The organisation's zone when the window was made: occurrences keep its local time (rule 27).
  time_zone text not null,
  created_at timestamptz not null default now(),
  -- Deleted windows stay for the past that they covered (rule 24), and are shown to nobody.
  deleted_at timestamptz,
  -- Occurrences are written down up to here; null when there are no more.
  expanded_until timestamptz,
  -- A window that is changed keeps what it covered until then as a version of its own: a row that
  -- ended at that moment (rule 24), which is shown to nobody and covers what the window had
  -- covered. No reference: both go with the organisation, and a version may be restored before its
  -- window.
  version_of uuid,
  -- What began before it was ended at it by somebody; the rule goes on with the next occurrence.
  cut_at timestamptz,
  -- A window that repeats lasts as its local times say, also when the clock was changed in its
  -- first occurrence. Null: it does not repeat.
  local_end timestamp without time zone,
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade
);
create index maintenance_expanding on maintenance_windows (expanded_until) where ((deleted_at is null) and (expanded_until is not null));
create index maintenance_page on maintenance_windows (organisation_id, key) where (deleted_at is null);
create index maintenance_versions on maintenance_windows (version_of) where (version_of is not null);

-- The monitors and groups that a window names. No reference to groups: a group may go, what its
-- window covered stays covered.
create table maintenance_choices (
  window_id uuid not null,
  monitor_id uuid,
  group_id uuid,
  check (num_nonnulls(monitor_id, group_id) = 1),
  unique nulls not distinct (window_id, monitor_id, group_id),
  foreign key (monitor_id) references monitors on delete cascade,
  foreign key (window_id) references maintenance_windows on delete cascade
);
create index maintenance_choices_group on maintenance_choices (group_id) where (group_id is not null);
create index maintenance_choices_monitor on maintenance_choices (monitor_id) where (monitor_id is not null);

create table maintenance_occurrences (
  window_id uuid not null,
  began_at timestamptz not null,
  ended_at timestamptz not null,
  primary key (window_id, began_at),
  foreign key (window_id) references maintenance_windows on delete cascade
);

-- NOTIFICATIONS
-- Channels, and each message from its alert to the answer of its receiver.

create table channels (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  -- Whose it is: one person's, or null: the organisation's. It goes with the membership.
  user_id uuid,
  kind text not null,
  name text not null,
  -- The values of its fields, with "***" where a secret stands; the secrets themselves are in
  -- `secrets`, encrypted as a monitor's.
  config jsonb not null default '{}',
  secrets bytea,
  enabled boolean not null default true,
  -- A mailbox is told of nothing before its owner said that it is theirs.
  verified_at timestamptz,
  verification bytea,
  verification_until timestamptz,
  unsubscribed_at timestamptz,
  covers text not null default 'all',
  delay_s integer not null default 0,
  reminder_s integer,
  -- {"zone": …, "spans": [{"days": [1, …], "from": "09:00", "to": "17:00"}]}; null: at any hour.
  hours jsonb,
  created_at timestamptz not null default now(),
  -- Kept for the stories of its messages, without what it was reached by.
  deleted_at timestamptz,
  -- When its bucket is full again (rule 32).
  bucket_full_at timestamptz not null default '1970-01-01 00:00:00+00',
  failing_since timestamptz,
  refused_at timestamptz,
  failure text,
  owners_told_at timestamptz,
  last_delivered_at timestamptz,
  -- Since when a channel gathers what leaves together, and when the newest of it came (rule 32).
  gathering_since timestamptz,
  gathered_at timestamptz,
  -- Where its messages go, so that what goes to one host cannot take all places of those on their
  -- way. Null: it has a share of its own.
  host text,
  -- Whether a channel wants warnings (rule 44): mail, chat and programs do, pagers and phones do
  -- not.
  warnings boolean not null default true,
  check (covers in ('all', 'chosen')),
  check ((delay_s >= 0) and (delay_s <= 86400)),
  check ((reminder_s >= 60) and (reminder_s <= 86400)),
  unique (key),
  primary key (id),
  unique (verification),
  foreign key (organisation_id) references organisations on delete cascade,
  foreign key (organisation_id, user_id) references memberships(organisation_id, user_id) on delete cascade
);
create index channels_by_end on channels (deleted_at) where (deleted_at is not null);
create index channels_failing on channels (id) where ((deleted_at is null) and ((failing_since is not null) or (refused_at is not null)));
create index channels_page on channels (organisation_id, key) where (deleted_at is null);

-- The monitors and groups that a channel for chosen ones is for.
create table channel_choices (
  channel_id uuid not null,
  monitor_id uuid,
  group_id uuid,
  check (num_nonnulls(monitor_id, group_id) = 1),
  unique nulls not distinct (channel_id, monitor_id, group_id),
  foreign key (channel_id) references channels on delete cascade,
  foreign key (group_id) references groups on delete cascade,
  foreign key (monitor_id) references monitors on delete cascade
);
create index channel_choices_group on channel_choices (group_id) where (group_id is not null);
create index channel_choices_monitor on channel_choices (monitor_id) where (monitor_id is not null);

-- Alerts of incidents (rules 25, 28), one row for an incident, event and channel, and of warnings
-- (rule 44): one each time that there is news of one. Channels come with their own work; until then
-- the channel is ''.
create table alerts (
  id bigint generated always as identity,
  organisation_id uuid not null,
  monitor_id uuid not null,
  incident_id uuid,
  warning_id uuid,
  -- What the warning was about then.
  details jsonb,
  event text not null,
  channel text not null default '',
  -- held: inside cover or before alert_after_s; due: to be sent; sent; dropped: resolved before it
  -- was due.
  state text not null,
  due_at timestamptz,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  -- A due event becomes steps once. What was told to nobody before there were channels is told to
  -- nobody now.
  planned_at timestamptz,
  check (event in ('down', 'up', 'closed', 'was_down', 'warning', 'warning_over')),
  check (state in ('held', 'due', 'sent', 'dropped')),
  check ((incident_id is null) = (event in ('warning', 'warning_over'))),
  check ((incident_id is null) = (warning_id is not null and details is not null)),
  unique (incident_id, event, channel),
  primary key (id),
  foreign key (warning_id) references warnings on delete cascade
);
create index alerts_by_age on alerts (created_at);
create index alerts_monitor on alerts (monitor_id) where (state in ('held', 'due'));
create index alerts_planning on alerts (id) where ((state = 'due'::text) and (planned_at is null));
create index alerts_waiting on alerts (due_at) where (state = 'held'::text);
create index alerts_warning on alerts (warning_id) where (warning_id is not null);

-- Tries at what can be guessed (passwords, codes), by the fingerprint of who tries at what.
create table attempts (
  subject bytea not null,
  began_at timestamptz not null,
  tries integer not null,
  primary key (subject)
);

-- A "down" that no channel took in time, and the owners who were mailed of it (rule 38).
create table last_resorts (
  incident_id uuid not null,
  organisation_id uuid not null,
  at timestamptz not null,
  mailed text[] not null,
  primary key (incident_id),
  foreign key (organisation_id) references organisations on delete cascade
);
create index last_resorts_by_age on last_resorts (at);

-- EVENT WEBHOOKS
-- Events as programs get them.

-- Addresses of an organisation's own programs, which get its events as they come.
create table webhooks (
  key bigint generated always as identity,
  id uuid not null,
  organisation_id uuid not null,
  description text not null,
  -- The part of the address that everyone in the organisation may read.
  host text not null,
  -- The address and the secrets that sign what is sent there, encrypted.
  secrets bytea not null,
  -- Empty: of every type, also of types to come.
  event_types text[] not null,
  enabled boolean not null,
  created_at timestamptz not null,
  last_delivered_at timestamptz,
  -- While nothing is accepted: since when, and when last.
  failing_since timestamptz,
  last_failed_at timestamptz,
  -- Why the service turned it off; null where a member did.
  disabled_because text,
  check (disabled_because in ('gone', 'failing')),
  unique (key),
  primary key (id),
  foreign key (organisation_id) references organisations on delete cascade
);
create index webhooks_page on webhooks (organisation_id, key);

-- How far each has come in the list of events. Not in a backup, as events are not.
create table webhook_cursors (
  webhook_id uuid not null,
  written_by xid8 not null,
  event_key bigint not null,
  -- What it shows was written before the webhook began, and is not sent.
  begins pg_snapshot,
  primary key (webhook_id),
  foreign key (webhook_id) references webhooks on delete cascade
);

-- STATUS PAGES
-- What an organisation publishes, and who follows it.

create table status_pages (
  id uuid not null,
  key bigint generated always as identity,
  organisation_id uuid not null,
  name text not null,
  slug text not null,
  description text,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  language text not null default 'en',
  -- '#rrggbb' in small letters; null: the usual one.
  accent text,
  access text not null default 'public',
  password_hash text,
  -- Of the secret in a private page's link, which is shown once.
  link_fingerprint bytea,
  -- Grows when the password, the link or the way in changes: what was let in before is let in no
  -- more.
  access_version integer not null default 0,
  -- In small letters, as DNS writes it.
  domain text,
  -- What a TXT record of the domain has to say.
  domain_token text,
  domain_proved_at timestamptz,
  -- When the record that proves a status page's domain was looked for last, and when it was found
  -- last.
  domain_checked_at timestamptz,
  domain_seen_at timestamptz,
  -- Stored apart by the database: nobody reads the bytes who does not name them.
  logo bytea,
  logo_type text,
  -- The beginning of a hash of the bytes, for its address and its ETag.
  logo_version text,
  check (accent ~ '^#[0-9a-f]{6}$'::text),
  check (access in ('public', 'password', 'link')),
  check ((octet_length(logo) >= 1) and (octet_length(logo) <= 102400)),
  check (logo_type in ('image/png', 'image/jpeg', 'image/webp')),
  check (num_nonnulls(logo, logo_type, logo_version) in (0, 3)),
  constraint status_pages_domain_has_token check ((domain is null) = (domain_token is null)),
  check (language in ('en', 'de', 'fr', 'es')),
  constraint status_pages_proved_is_domain check ((domain_proved_at is null) or (domain is not null)),
  unique (organisation_id, id),
  primary key (id),
  unique (slug),
  foreign key (organisation_id) references organisations on delete cascade
);
-- Whoever proved a domain has it; to name one keeps nobody else from it.
create unique index status_pages_domain on status_pages (domain) where (domain_proved_at is not null);
create index status_pages_page on status_pages (organisation_id, key);

create table status_page_groups (
  page_id uuid not null,
  group_id uuid not null,
  display_name text not null,
  "position" integer not null,
  primary key (page_id, group_id),
  foreign key (group_id) references groups on delete cascade,
  foreign key (page_id) references status_pages on delete cascade
);
create index status_page_groups_group on status_page_groups (group_id);

create table status_page_monitors (
  page_id uuid not null,
  monitor_id uuid not null,
  display_name text not null,
  group_id uuid,
  "position" integer not null,
  primary key (page_id, monitor_id),
  foreign key (monitor_id) references monitors on delete cascade,
  foreign key (page_id) references status_pages on delete cascade
);
-- On which pages a monitor and a group stand: asked with each incident, and when one is deleted.
create index status_page_monitors_monitor on status_page_monitors (monitor_id);

-- What is told on a page about an incident of a monitor that is published there.
create table status_page_posts (
  id uuid not null,
  key bigint generated always as identity,
  page_id uuid not null,
  organisation_id uuid not null,
  incident_id uuid not null,
  kind text not null,
  text text not null,
  written_by uuid,
  written_at timestamptz not null,
  -- When the mails to the page's subscribers were made.
  told_at timestamptz,
  check (kind in ('investigating', 'identified', 'monitoring', 'resolved')),
  unique (key),
  primary key (id),
  foreign key (incident_id) references incidents on delete cascade,
  foreign key (page_id) references status_pages on delete cascade,
  foreign key (written_by) references users on delete set null
);
create index status_page_posts_incident on status_page_posts (incident_id);
create index status_page_posts_page on status_page_posts (page_id, key);
create index status_page_posts_untold on status_page_posts (key) where (told_at is null);

-- What people report on a status page themselves: an incident that no check confirmed, degraded
-- service, an announcement. It never counts into uptime.
create table status_page_reports (
  id uuid not null,
  key bigint generated always as identity,
  page_id uuid not null,
  organisation_id uuid not null,
  title text not null,
  started_at timestamptz not null,
  -- Null until somebody says when; in the future for an announcement that ends by itself.
  ends_at timestamptz,
  cause_id uuid,
  check (ends_at >= started_at),
  unique (key),
  primary key (id),
  foreign key (cause_id) references causes on delete set null,
  foreign key (page_id) references status_pages on delete cascade
);
create index status_page_reports_page on status_page_reports (page_id, key);
-- Several people may want to post about a cause: it is told once.
create unique index status_page_reports_cause on status_page_reports (cause_id, page_id);

-- How much a report affects monitors of its page.
create table status_page_report_monitors (
  report_id uuid not null,
  monitor_id uuid not null,
  impact text not null,
  check (impact in ('degraded', 'partial_outage', 'major_outage')),
  primary key (report_id, monitor_id),
  foreign key (monitor_id) references monitors on delete cascade,
  foreign key (report_id) references status_page_reports on delete cascade
);
create index status_page_report_monitors_monitor on status_page_report_monitors (monitor_id);

-- What is said of a report, one after the other.
create table status_page_report_updates (
  id uuid not null,
  key bigint generated always as identity,
  report_id uuid not null,
  kind text not null,
  text text not null,
  written_by uuid,
  written_at timestamptz not null,
  -- When the notices to the page's subscribers were made.
  told_at timestamptz,
  check (kind in ('announcement', 'investigating', 'identified', 'monitoring', 'resolved')),
  unique (key),
  primary key (id),
  foreign key (report_id) references status_page_reports on delete cascade,
  foreign key (written_by) references users on delete set null
);
create index status_page_report_updates_report on status_page_report_updates (report_id, key);
create index status_page_report_updates_untold on status_page_report_updates (key) where (told_at is null);

-- Who is mailed what is told on a page, once they said from their mailbox that they want it.
create table status_page_subscribers (
  id uuid not null,
  page_id uuid not null,
  email text,
  language text not null,
  -- Of the secret in the mail that asks; null until it is made, and once it was answered.
  confirm_fingerprint bytea,
  asked_at timestamptz not null,
  confirmed_at timestamptz,
  -- Of the address: one page has each once.
  url_fingerprint bytea,
  -- The part of the address that is shown.
  host text,
  -- The address and the secret that signs what is sent there, encrypted.
  secrets bytea,
  -- Since when nothing was accepted there; null once something is.
  failing_since timestamptz,
  -- Nothing is sent there any more, because nothing was accepted for a long time.
  off_at timestamptz,
  check ((email is null) = ((secrets is not null) and (url_fingerprint is not null) and (host is not null))),
  check (language in ('en', 'de', 'fr', 'es')),
  unique (confirm_fingerprint),
  primary key (id),
  foreign key (page_id) references status_pages on delete cascade
);
create index status_page_subscribers_asked on status_page_subscribers (lower(email), asked_at);
create unique index status_page_subscribers_email on status_page_subscribers (page_id, lower(email));
create unique index status_page_subscribers_url on status_page_subscribers (page_id, url_fingerprint);

-- That subscribers were mailed that an incident began, or that it is over, when nobody wrote
-- anything.
create table status_page_told (
  page_id uuid not null,
  incident_id uuid not null,
  event text not null,
  told_at timestamptz not null,
  check (event in ('began', 'over')),
  primary key (page_id, incident_id, event),
  foreign key (incident_id) references incidents on delete cascade,
  foreign key (page_id) references status_pages on delete cascade
);

-- DELIVERIES
-- What leaves for others, and the steps of alerts that messages are made of.

-- What is sent until it is accepted: an alert's message to a channel, an event to a webhook, an
-- update to a subscriber of a status page, or a mail. Its id is the same at every attempt, and what
-- receivers recognise it by; an event has its own. Of these only messages and updates are in a
-- backup.
create table deliveries (
  key bigint generated always as identity,
  id uuid not null default gen_random_uuid(),
  kind text not null generated always as (case when channel_id is not null then 'alert'
    when webhook_id is not null then 'event' when subscriber_id is not null then 'update'
    else 'mail' end) stored,
  -- Of a message and an event.
  organisation_id uuid,
  channel_id uuid,
  webhook_id uuid,
  subscriber_id uuid,
  -- Whose deliveries share places; mails are one line.
  subject uuid not null generated always as (coalesce(channel_id, webhook_id, subscriber_id,
    '00000000-0000-0000-0000-000000000000')) stored,
  -- Of a mail.
  recipient text,
  -- What happened; of a mail, its kind.
  event text not null,
  -- What a message says, the same with every attempt, but for links, which are signed anew; what a
  -- mail or an update is about: its text, and the secret in it, is made when it is sent, so that no
  -- secret lies here.
  told jsonb,
  -- The message that began the talk: a "down", or itself.
  thread_id uuid,
  event_key bigint,
  event_id uuid,
  -- waiting → delivered | refused | failed | cancelled | superseded (all that a message told was
  -- over before it was delivered)
  state text not null default 'waiting',
  -- Of a message: when its first event became due.
  due_at timestamptz,
  created_at timestamptz not null,
  attempts integer not null default 0,
  -- When it is to be tried next; whoever tries it moves this ahead, so that no other does
  -- meanwhile.
  next_at timestamptz not null,
  claimed_until timestamptz,
  -- At which place the coordinator runs that claimed it: whoever starts there again takes back what
  -- its predecessor had claimed.
  claimed_by uuid,
  settled_at timestamptz,
  -- What the receiver calls it, and our words for what it answered.
  reference text,
  words text,
  -- Its attempts, [{at, took_ms, status, class, verdict, words}, …], times in milliseconds: all of a
  -- message, and the last of others. Of what was answered it has a status, or a class of our own
  -- where there was none; only of an event, the beginning of what the server said (answer).
  log jsonb not null default '[]',
  check (state in ('waiting', 'delivered', 'refused', 'failed', 'cancelled', 'superseded')),
  check (num_nonnulls(channel_id, webhook_id, subscriber_id, recipient) = 1),
  unique (key),
  primary key (id),
  unique (webhook_id, event_key),
  foreign key (channel_id) references channels on delete cascade,
  foreign key (webhook_id) references webhooks on delete cascade,
  foreign key (subscriber_id) references status_page_subscribers on delete cascade
);
create index deliveries_channel on deliveries (channel_id, key) where (channel_id is not null);
-- The messages of an organisation, newest first, whatever their channel.
create index deliveries_of on deliveries (organisation_id, key) where (kind = 'alert'::text);
create index deliveries_recipient on deliveries (lower(recipient), created_at) where (recipient is not null);
-- What was settled is forgotten after its time, the oldest first.
create index deliveries_settled on deliveries (kind, settled_at) where (state <> 'waiting'::text);
create index deliveries_subscriber on deliveries (subscriber_id) where (subscriber_id is not null);
create index deliveries_thread on deliveries (thread_id) where (thread_id is not null);
create index deliveries_waiting on deliveries (kind, subject, next_at, key) where (state = 'waiting'::text);
create index deliveries_webhook on deliveries (webhook_id, key) where (webhook_id is not null);

-- One event of one incident or warning for one channel. held → told (in a message) | dropped | merged (its
-- incident ended before it was taken).
create table alert_steps (
  id bigint generated always as identity,
  organisation_id uuid not null,
  channel_id uuid not null,
  monitor_id uuid not null,
  incident_id uuid,
  -- The alert of a warning.
  alert_id bigint,
  event text not null,
  seq integer not null default 0,
  state text not null,
  -- When the event became due, whatever holds it here.
  due_at timestamptz not null,
  -- When it is to be looked at next, and what held it so far: [[by, from, until], …], times in
  -- milliseconds.
  look_at timestamptz not null,
  holds jsonb not null default '[]',
  -- What the monitor was doing: of a "down" how it is told (rule 37), of an "up" whether it waits
  -- until the monitor was steady.
  flapping text not null default 'plain',
  -- Why it was dropped.
  because text,
  message_id uuid,
  -- When it first left, whatever became of that message.
  first_told_at timestamptz,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  check (event in ('down', 'up', 'was_down', 'closed', 'reminder', 'acknowledged', 'flapping',
    'warning', 'warning_over')),
  check ((incident_id is null) = (alert_id is not null)),
  check (flapping in ('plain', 'flapping', 'silent')),
  check (state in ('held', 'told', 'dropped', 'merged')),
  unique (incident_id, channel_id, event, seq),
  unique (alert_id, channel_id),
  primary key (id),
  foreign key (alert_id) references alerts on delete cascade,
  foreign key (channel_id) references channels on delete cascade,
  foreign key (message_id) references deliveries on delete set null
);
create index alert_steps_by_age on alert_steps (created_at);
create index alert_steps_channel on alert_steps (channel_id) where (state = 'held'::text);
create index alert_steps_message on alert_steps (message_id) where (message_id is not null);
create index alert_steps_monitor on alert_steps (monitor_id, due_at);
create index alert_steps_waiting on alert_steps (look_at) where (state = 'held'::text);

-- What a channel was told of a cause: how many of its outages there were then.
create table told_causes (
  channel_id uuid not null,
  cause_id uuid not null,
  organisation_id uuid not null,
  incidents integer not null,
  told_at timestamptz not null,
  primary key (channel_id, cause_id),
  foreign key (channel_id) references channels on delete cascade,
  foreign key (cause_id) references causes on delete cascade,
  foreign key (organisation_id) references organisations on delete cascade
);

-- WHAT FOLLOWS FROM A CHANGE
-- Functions that several subjects call, and the triggers that call them.

create function count_monitors(organisations uuid[], facets text[], vals text[], changes integer[]) RETURNS void LANGUAGE sql as $$
  insert into monitor_counts as c (organisation_id, facet, value, monitors)
  select o, f, v, sum(n) from unnest(organisations, facets, vals, changes) r (o, f, v, n)
  group by 1, 2, 3 having sum(n) <> 0 order by 1, 2, 3
  on conflict (organisation_id, facet, value) do update set monitors = c.monitors + excluded.monitors;
  delete from monitor_counts where organisation_id = any (organisations) and monitors = 0;
$$;

create function facets_of(group_id uuid, type text, tags text[]) RETURNS table (facet text, value text) LANGUAGE sql IMMUTABLE as $$
  select 'group', coalesce(group_id, '00000000-0000-0000-0000-000000000000')::text
  union all select 'kind', type
  union all select 'tag', unnest(tags)
$$;

-- Old and new rows are joined fully, here and below: the plan stays as it was made for the first few
-- rows, and would compare each with each. A full join never does.
create function count_monitors_of_rows() RETURNS trigger LANGUAGE plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform count_monitors(array_agg(organisation_id), array_agg(facet), array_agg(value), array_agg(1))
    from added a cross join facets_of(a.group_id, a.type, a.tags);
  elsif tg_op = 'DELETE' then
    perform count_monitors(array_agg(organisation_id), array_agg(facet), array_agg(value), array_agg(-1))
    from removed r cross join facets_of(r.group_id, r.type, r.tags);
  else
    perform count_monitors(array_agg(organisation_id), array_agg(facet), array_agg(value), array_agg(n)) from (
      select a.organisation_id, f.facet, f.value, s.n from added a full join removed r on r.id = a.id
        cross join (values (1), (-1)) s (n)
        cross join lateral facets_of(case s.n when 1 then a.group_id else r.group_id end, a.type,
          case s.n when 1 then a.tags else r.tags end) f
      where a.group_id is distinct from r.group_id or a.tags <> r.tags) f
    having count(*) > 0;
  end if;
  return null;
end $$;

create function count_no_monitors() RETURNS trigger LANGUAGE plpgsql as $$
begin
  delete from monitor_counts;
  return null;
end $$;

-- What a backup brings back happened before.
create function events_are_written() RETURNS boolean LANGUAGE sql STABLE as $$
  select coalesce(current_setting('antipode.restoring', true), '') <> 'on' $$;

create function forget_events_of_organisation() RETURNS trigger LANGUAGE plpgsql as $$
begin
  delete from events where organisation_id = old.id;
  return null;
end $$;

-- Whether leases still are their owner's is said by failing, so that all that a commit writes can
-- follow at once, without waiting for an answer.
create function hold_leases(by_owner uuid, held smallint[], at_epochs bigint[]) RETURNS void LANGUAGE plpgsql as $$
declare
  lost text;
begin
  -- In order of partition, as all lock them, and held until the transaction ends.
  perform 1 from leases l join unnest(held, at_epochs) as mine (partition, epoch) on mine.partition = l.partition and mine.epoch = l.epoch
    where l.owner = by_owner order by l.partition for share of l;
  select string_agg(mine.partition::text, ',' order by mine.partition) into lost
    from unnest(held, at_epochs) as mine (partition, epoch)
    left join leases l on l.partition = mine.partition and l.epoch = mine.epoch and l.owner = by_owner
    where l.partition is null;
  if lost is not null then
    raise exception using errcode = 'AP001', message = 'leases belong to another coordinator', detail = lost;
  end if;
end $$;

create function mark_stale_days() RETURNS trigger LANGUAGE plpgsql as $$
declare
  today date := (now() at time zone 'UTC')::date;
begin
  -- A backup has the marks.
  if coalesce(current_setting('antipode.restoring', true), '') = 'on' then return null; end if;
  -- No row is made of today yet.
  insert into stale_days (day, monitor_key)
  select distinct (at at time zone 'UTC')::date as day, monitor_key from changed
  where at >= today at time zone 'UTC' order by 1, 2
  on conflict do nothing;
  -- A row may be in the making that does not see these chunks: its mark must outlive it, so we wait for it, or it for us.
  insert into stale_days (day, monitor_key)
  select distinct (at at time zone 'UTC')::date as day, monitor_key from changed
  where at < today at time zone 'UTC' order by 1, 2
  on conflict (day, monitor_key) do update set since = stale_days.since;
  return null;
end $$;

create function note_edit() RETURNS trigger LANGUAGE plpgsql as $$
begin
  new.edited_at := date_trunc('milliseconds', now());
  return new;
end $$;

-- The form in which texts are searched: without case and accents. wordsOf() in shared/base/names.ts is the same.
-- It needs no extension: unaccent would have to be created by each managed database.
create function search_words(text text) RETURNS text LANGUAGE sql immutable as $$
  select regexp_replace(normalize(lower(text), NFD), '[\u0300-\u036f]', '', 'g')
$$;

-- A search finds monitors by their tags too: the words of a status hold them after the rest.
-- Otherwise as in migration 028.
create function refresh_status(ids uuid[]) RETURNS void LANGUAGE plpgsql as $$
begin
  if cardinality(ids) = 0 then return; end if;
  -- Locked before it is looked at: a transaction that changes the same monitor has then been seen whole, or waits.
  perform 1 from monitor_status where monitor_id = any (ids) order by monitor_id for update;
  insert into monitor_status as s (monitor_id, organisation_id, monitor_key, group_id, affects, status, since, seen, name_folded, place, words)
  select m.id, m.organisation_id, m.key, m.group_id, m.affects_group_status,
    case
      when m.paused_at is not null then 'paused'
      when i.confirmed_at is not null then 'down'
      when i.started_at is not null then 'verifying'
      when l.gap_since is not null or not (coalesce(k.seen, false) or l.seen) then 'pending'
      else 'up'
    end,
    case
      when m.paused_at is not null then m.paused_at
      when i.confirmed_at is not null then i.confirmed_at
      when i.started_at is not null then i.started_at
      when l.gap_since is not null then greatest(l.gap_since, i.last_resolved_at, l.resumed_at)
      else greatest(m.created_at, i.last_resolved_at, l.last_gap_ended_at, l.resumed_at, m.edited_at)
    end,
    coalesce(k.seen, false) or l.seen,
    lower(m.name),
    coalesce(g.name_folded || chr(1), chr(65533)) || lower(m.name),
    search_words(concat_ws(' ', m.name, m.target, g.name, nullif(array_to_string(m.tags, ' '), '')))
  from monitors m
  left join monitor_status k on k.monitor_id = m.id
  left join groups g on g.id = m.group_id
  cross join lateral (
    select max(began_at) filter (where kind = 'unknown' and ended_at is null) as gap_since,
      max(ended_at) filter (where kind = 'unknown' and (began_at <= m.created_at
        or began_at <= m.edited_at and ended_at >= m.edited_at
        or exists (select from ledger p where p.monitor_id = m.id and p.kind = 'paused'
          and p.ended_at between ledger.began_at and ledger.ended_at))) as last_gap_ended_at,
      max(ended_at) filter (where kind = 'paused') as resumed_at,
      coalesce(bool_or(kind = 'unknown' and ended_at is not null), false) as seen
    from ledger where monitor_id = m.id) l
  cross join lateral (
    select max(started_at) filter (where resolved_at is null) as started_at,
      max(confirmed_at) filter (where resolved_at is null) as confirmed_at,
      max(resolved_at) as last_resolved_at
    from incidents where monitor_id = m.id) i
  where m.id = any (ids)
  on conflict (monitor_id) do update set group_id = excluded.group_id, affects = excluded.affects, status = excluded.status, since = excluded.since, seen = excluded.seen,
    name_folded = excluded.name_folded, place = excluded.place, words = excluded.words
  where (s.group_id, s.affects, s.status, s.since, s.seen, s.name_folded, s.place, s.words)
    is distinct from (excluded.group_id, excluded.affects, excluded.status, excluded.since, excluded.seen, excluded.name_folded, excluded.place, excluded.words);
end $$;

create function refresh_status_of_rows() RETURNS trigger LANGUAGE plpgsql as $$
begin
  if tg_table_name = 'monitors' then perform refresh_status(array(select id from rows));
  elsif tg_table_name = 'groups' then
    perform refresh_status(array(select m.id from monitors m join rows r on r.id = m.group_id));
  elsif tg_table_name = 'incidents' and tg_op = 'UPDATE' then
    -- No status depends on the rest, as on who answered since.
    perform refresh_status(array(select distinct n.monitor_id from rows n full join removed o on o.id = n.id
      where (n.started_at, n.confirmed_at, n.resolved_at) is distinct from (o.started_at, o.confirmed_at, o.resolved_at)));
  else perform refresh_status(array(select distinct monitor_id from rows));
  end if;
  return null;
end $$;

-- Wakes whoever tells, with the commit that gives it something to do.
create function tell_alerts() RETURNS trigger LANGUAGE plpgsql as $$
begin
  perform pg_notify('alerts', tg_table_name);
  return null;
end $$;

-- Tells whoever shows an organisation that something of it changed: pages that are open look again.
-- The channel carries the organisation's id; several changes of one transaction are told once.
create function tell_changed() RETURNS trigger LANGUAGE plpgsql as $$
begin
  if tg_table_name = 'ledger' then
    perform pg_notify('changed', changed.organisation_id::text) from (
      select distinct m.organisation_id from rows r join monitors m on m.id = r.monitor_id) as changed;
  elsif tg_table_name = 'deliveries' then
    perform pg_notify('changed', changed.organisation_id::text) from (
      select distinct organisation_id from rows where channel_id is not null) as changed;
  else
    perform pg_notify('changed', changed.organisation_id::text) from (select distinct organisation_id from rows) as changed;
  end if;
  return null;
end $$;

create function tell_first_heard() RETURNS trigger LANGUAGE plpgsql as $$
begin
  perform pg_notify('changed', new.organisation_id::text);
  return null;
end $$;

create function write_group_events() RETURNS trigger LANGUAGE plpgsql as $$
begin
  if not events_are_written() then return null; end if;
  if tg_op = 'INSERT' then
    insert into events (organisation_id, what, group_id, name) select organisation_id, 'group.created', id, name from added order by key;
  elsif tg_op = 'DELETE' then
    insert into events (organisation_id, what, group_id, name)
    select r.organisation_id, 'group.deleted', r.id, r.name from removed r join organisations o on o.id = r.organisation_id order by r.key;
  else
    insert into events (organisation_id, what, group_id, name)
    select a.organisation_id, 'group.changed', a.id, a.name from added a full join removed r on r.id = a.id
    where (a.name, a.description, a.external_id) is distinct from (r.name, r.description, r.external_id) order by a.key;
  end if;
  return null;
end $$;

-- As before, and an event when an open incident is handed back.
create function write_incident_events() RETURNS trigger LANGUAGE plpgsql as $$
begin
  if not events_are_written() then return null; end if;
  if tg_op = 'INSERT' then
    insert into events (organisation_id, what, monitor_id, incident_id, name)
    select a.organisation_id, e.what, a.monitor_id, a.id, m.name from added a join monitors m on m.id = a.monitor_id
      cross join lateral (values (1, 'incident.opened', true), (2, 'incident.confirmed', a.confirmed_at is not null),
        (3, 'incident.resolved', a.resolved_at is not null)) e (nth, what, is_so)
    where e.is_so order by a.key, e.nth;
  else
    insert into events (organisation_id, what, monitor_id, incident_id, name)
    select a.organisation_id, e.what, a.monitor_id, a.id, m.name from added a full join removed r on r.id = a.id left join monitors m on m.id = a.monitor_id
      cross join lateral (values (1, 'incident.confirmed', r.confirmed_at is null and a.confirmed_at is not null),
        (2, 'incident.acknowledged', r.acknowledged_at is null and a.acknowledged_at is not null),
        (3, 'incident.unacknowledged', r.acknowledged_at is not null and a.acknowledged_at is null and a.resolved_at is null),
        (4, 'incident.resolved', r.resolved_at is null and a.resolved_at is not null)) e (nth, what, is_so)
    where e.is_so order by a.key, e.nth;
  end if;
  return null;
end $$;

-- A window is changed by several statements, and told of once. What it covered before is kept as a
-- version of its own, which is no news.
create function write_maintenance_events() RETURNS trigger LANGUAGE plpgsql as $$
begin
  if not events_are_written() then return null; end if;
  if tg_op = 'INSERT' then
    insert into events (organisation_id, what, window_id, name)
    select organisation_id, 'maintenance.created', id, name from added where version_of is null order by key;
  else
    insert into events (organisation_id, what, window_id, name)
    select a.organisation_id, e.what, a.id, a.name from added a full join removed r on r.id = a.id
      cross join lateral (select case when r.deleted_at is null and a.deleted_at is not null then 'maintenance.deleted'
        when (a.name, a.starts_at, a.ends_at, a.local_start, a.rrule, a.time_zone, a.cut_at, a.created_at)
          is distinct from (r.name, r.starts_at, r.ends_at, r.local_start, r.rrule, r.time_zone, r.cut_at, r.created_at) then 'maintenance.changed'
        end as what) e
    where a.version_of is null and e.what is not null and not exists (
      select 1 from events known where known.organisation_id = a.organisation_id and known.written_by = pg_current_xact_id()
        and known.window_id = a.id and known.what = e.what)
    order by a.key;
  end if;
  return null;
end $$;

-- Its version goes up with every change of what is checked, secrets included; that they are
-- encrypted anew is no news.
create function write_monitor_events() RETURNS trigger LANGUAGE plpgsql as $$
begin
  if not events_are_written() then return null; end if;
  if tg_op = 'INSERT' then
    insert into events (organisation_id, what, monitor_id, name) select organisation_id, 'monitor.created', id, name from added order by key;
  elsif tg_op = 'DELETE' then
    -- Of an organisation that goes with all it had nobody reads any more.
    insert into events (organisation_id, what, monitor_id, name)
    select r.organisation_id, 'monitor.deleted', r.id, r.name from removed r join organisations o on o.id = r.organisation_id order by r.key;
  else
    insert into events (organisation_id, what, monitor_id, name)
    select a.organisation_id, e.what, a.id, a.name from added a full join removed r on r.id = a.id
      cross join lateral (values
        (1, 'monitor.changed', (a.name, a.target, a.interval_s, a.config, a.config_version, a.group_id, a.affects_group_status, a.external_id, a.tags, a.runbook)
          is distinct from (r.name, r.target, r.interval_s, r.config, r.config_version, r.group_id, r.affects_group_status, r.external_id, r.tags, r.runbook)),
        (2, 'monitor.paused', r.enabled and not a.enabled), (3, 'monitor.resumed', a.enabled and not r.enabled)) e (nth, what, is_so)
    where e.is_so order by a.key, e.nth;
  end if;
  return null;
end $$;

create function write_warning_events() RETURNS trigger LANGUAGE plpgsql as $$
begin
  if not events_are_written() then return null; end if;
  if tg_op = 'INSERT' then
    insert into events (organisation_id, what, monitor_id, warning, name)
    select a.organisation_id, e.what, a.monitor_id, a.code, m.name from added a join monitors m on m.id = a.monitor_id
      cross join lateral (values (1, 'warning.started', true), (2, 'warning.ended', a.ended_at is not null)) e (nth, what, is_so)
    where e.is_so order by a.key, e.nth;
  else
    insert into events (organisation_id, what, monitor_id, warning, name)
    select a.organisation_id, e.what, a.monitor_id, a.code, m.name from added a full join removed r on r.id = a.id left join monitors m on m.id = a.monitor_id
      cross join lateral (values (1, 'warning.changed', a.details is distinct from r.details and a.ended_at is null),
        (2, 'warning.ended', r.ended_at is null and a.ended_at is not null)) e (nth, what, is_so)
    where e.is_so order by a.key, e.nth;
  end if;
  return null;
end $$;

create trigger events_forget after delete on organisations for each row execute function forget_events_of_organisation();

create trigger first_heard after update of last_seen_at on probes for each row when (((old.last_seen_at is null) and (new.last_seen_at is not null) and (new.organisation_id is not null))) execute function tell_first_heard();
create trigger changed_update after update on probe_invitations referencing new table as rows for each statement execute function tell_changed();

create trigger changed_delete after delete on groups referencing old table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on groups referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on groups referencing new table as rows for each statement execute function tell_changed();
create trigger events_delete after delete on groups referencing old table as removed for each statement execute function write_group_events();
create trigger events_insert after insert on groups referencing new table as added for each statement execute function write_group_events();
create trigger events_update after update on groups referencing old table as removed new table as added for each statement execute function write_group_events();
create trigger status_update after update on groups referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger changed_delete after delete on monitors referencing old table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on monitors referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on monitors referencing new table as rows for each statement execute function tell_changed();
create trigger count_delete after delete on monitors referencing old table as removed for each statement execute function count_monitors_of_rows();
create trigger count_insert after insert on monitors referencing new table as added for each statement execute function count_monitors_of_rows();
create trigger count_truncate after truncate on monitors for each statement execute function count_no_monitors();
create trigger count_update after update on monitors referencing old table as removed new table as added for each statement execute function count_monitors_of_rows();
create trigger events_delete after delete on monitors referencing old table as removed for each statement execute function write_monitor_events();
create trigger events_insert after insert on monitors referencing new table as added for each statement execute function write_monitor_events();
create trigger events_update after update on monitors referencing old table as removed new table as added for each statement execute function write_monitor_events();
create trigger note_edit before update on monitors for each row when ((new.config_version <> old.config_version)) execute function note_edit();
create trigger status_insert after insert on monitors referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger status_update after update on monitors referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger changed_insert after insert on mutes referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on mutes referencing new table as rows for each statement execute function tell_changed();
create trigger changed_delete after delete on deleted_monitors referencing old table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on deleted_monitors referencing new table as rows for each statement execute function tell_changed();

create trigger chunks_inserted after insert on chunks referencing new table as changed for each statement execute function mark_stale_days();
create trigger chunks_updated after update on chunks referencing new table as changed for each statement execute function mark_stale_days();

create trigger changed_delete after delete on cause_members referencing old table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on cause_members referencing new table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on incidents referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on incidents referencing new table as rows for each statement execute function tell_changed();
create trigger events_insert after insert on incidents referencing new table as added for each statement execute function write_incident_events();
create trigger events_update after update on incidents referencing old table as removed new table as added for each statement execute function write_incident_events();
create trigger status_insert after insert on incidents referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger status_update after update on incidents referencing old table as removed new table as rows for each statement execute function refresh_status_of_rows();
create trigger changed_delete after delete on post_mortems referencing old table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on post_mortems referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on post_mortems referencing new table as rows for each statement execute function tell_changed();
create trigger changed_delete after delete on ledger referencing old table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on ledger referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on ledger referencing new table as rows for each statement execute function tell_changed();
create trigger status_delete after delete on ledger referencing old table as rows for each statement execute function refresh_status_of_rows();
create trigger status_insert after insert on ledger referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger status_update after update on ledger referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger events_insert after insert on warnings referencing new table as added for each statement execute function write_warning_events();
create trigger events_update after update on warnings referencing old table as removed new table as added for each statement execute function write_warning_events();

create trigger changed_insert after insert on maintenance_windows referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on maintenance_windows referencing new table as rows for each statement execute function tell_changed();
create trigger events_insert after insert on maintenance_windows referencing new table as added for each statement execute function write_maintenance_events();
create trigger events_update after update on maintenance_windows referencing old table as removed new table as added for each statement execute function write_maintenance_events();

create trigger changed_insert after insert on channels referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on channels referencing new table as rows for each statement execute function tell_changed();
create trigger alerts_insert after insert on alerts for each statement execute function tell_alerts();
create trigger alerts_update after update of state on alerts for each statement execute function tell_alerts();
create trigger alerts_insert after insert on alert_steps for each statement execute function tell_alerts();
create trigger alerts_update after update of look_at on alert_steps for each statement execute function tell_alerts();
create trigger changed_insert after insert on deliveries referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on deliveries referencing new table as rows for each statement execute function tell_changed();
