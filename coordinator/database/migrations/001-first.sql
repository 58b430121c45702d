-- The whole first schema. Forward only: a later change is a later file.
-- Monitors and probes also carry a running number (key): big tables refer to it, because eight bytes index better than sixteen,
-- and lists page by it, because it is given under the organisation's lock and so grows in the order of commit.

-- Who this database is: a restored one is another, so that what the bus holds of the older state is not taken for its own.
create table installation (
  single boolean primary key default true check (single),
  id uuid not null default gen_random_uuid(),
  created_at timestamptz not null default now()
);
insert into installation default values;

create table organisations (
  id uuid primary key,
  key bigint generated always as identity unique,
  name text not null,
  plan text not null,
  time_zone text not null,
  created_at timestamptz not null default now()
);

create table users (
  id uuid primary key,
  email text not null,
  name text not null default '',
  password_hash text not null,
  created_at timestamptz not null default now()
);
create unique index users_email on users (lower(email));

create table memberships (
  organisation_id uuid not null references organisations on delete cascade,
  user_id uuid not null references users on delete cascade,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  created_at timestamptz not null default now(),
  primary key (organisation_id, user_id)
);

create table tokens (
  id uuid primary key,
  key bigint generated always as identity unique,
  organisation_id uuid not null,
  user_id uuid not null,
  name text not null,
  scope text not null check (scope in ('read', 'read_write')),
  fingerprint bytea not null unique,
  shown text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  -- A token dies with its creator's membership.
  foreign key (organisation_id, user_id) references memberships on delete cascade
);
create index tokens_owner on tokens (organisation_id, user_id);

create table groups (
  id uuid primary key,
  key bigint generated always as identity,
  organisation_id uuid not null references organisations on delete cascade,
  name text not null,
  -- What names are compared by: trimmed, without case.
  name_folded text not null,
  description text,
  created_at timestamptz not null default now(),
  unique (organisation_id, name_folded),
  unique (organisation_id, id)
);
create index groups_page on groups (organisation_id, key);

create table probes (
  id uuid primary key,
  key int generated always as identity unique,
  organisation_id uuid references organisations on delete cascade,
  name text not null unique,
  continent text not null,
  -- Public nkeys that may speak for it now; a rotation keeps the older one until `until` (milliseconds): [{key, until}].
  keys jsonb not null default '[]',
  -- What its own host allows it to reach beside global addresses, as it last reported; decides whether a private target can be checked.
  allowed_cidrs text[] not null default '{}',
  seal_key text,
  ear text,
  version text,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  last_seen_at timestamptz,
  quarantined_at timestamptz,
  quarantine_reason text
);

-- Keys of probes that were rotated out or revoked: the bus refuses what was issued to them before.
create table revoked_keys (
  key text primary key,
  revoked_at timestamptz not null default now()
);

create table monitors (
  id uuid primary key,
  key bigint generated always as identity unique,
  organisation_id uuid not null references organisations on delete cascade,
  partition smallint not null check (partition between 0 and 31),
  name text not null,
  type text not null check (type in ('https', 'dns', 'heartbeat')),
  target text not null,
  interval_s int not null,
  enabled boolean not null default true,
  -- As sent, with "***" where a secret stands; the secrets themselves are in `secrets`, encrypted.
  config jsonb not null default '{}',
  secrets bytea,
  group_id uuid,
  affects_group_status boolean not null default true,
  -- Goes up with every change of what is checked: results of an older version decide nothing.
  config_version int not null default 1,
  created_at timestamptz not null default now(),
  paused_at timestamptz,
  foreign key (organisation_id, group_id) references groups (organisation_id, id) on delete set null (group_id)
);
create index monitors_page on monitors (organisation_id, key);
create index monitors_group on monitors (group_id) where group_id is not null;
create index monitors_partition on monitors (partition, key);

-- Histories of deleted monitors, removed in small bites so that deleting holds nobody up.
create table forgotten_monitors (
  monitor_key bigint primary key,
  monitor_id uuid not null,
  forgotten_at timestamptz not null default now()
);

create table beat_tokens (
  fingerprint bytea primary key,
  organisation_id uuid not null,
  monitor_id uuid not null references monitors on delete cascade,
  token bytea not null,
  created_at timestamptz not null default now(),
  -- Set when the token was rotated out: it still counts until then.
  until timestamptz
);
create index beat_tokens_monitor on beat_tokens (monitor_id);

-- Keys that secrets of monitors and heartbeat tokens are encrypted with, themselves encrypted with one derived from SECRET_KEY. The newest
-- encrypts; older ones stay until nothing uses them any more.
create table secret_keys (
  id uuid primary key,
  wrapped bytea not null,
  created_at timestamptz not null default now()
);

-- Membership in groups over time (rule 26: cover follows membership).
create table group_memberships (
  organisation_id uuid not null,
  monitor_id uuid not null references monitors on delete cascade,
  group_id uuid not null,
  began_at timestamptz not null,
  ended_at timestamptz
);
create index group_memberships_monitor on group_memberships (monitor_id);
create unique index group_memberships_open on group_memberships (monitor_id) where ended_at is null;

-- One row for each raw result; day partitions are made ahead and dropped whole. No unique key: a repeat is told by the watermark.
create table results (
  monitor_key bigint not null,
  at timestamptz not null,
  probe_key int not null,
  took_ms real not null,
  outcome smallint not null, -- 0 ok, 1 fail, 2 unknown
  cause_class text,
  phases real[] -- dns, tcp, tls, first_byte, total
) partition by range (at);
create index results_monitor on results (monitor_key, at);

-- How far the results of a probe's spool are committed, for each partition: what tells a repeat from a new result.
create table watermarks (
  probe_key int not null references probes (key) on delete cascade,
  generation uuid not null,
  partition smallint not null,
  seq bigint not null,
  changed_at timestamptz not null default now(),
  primary key (probe_key, generation, partition)
);

-- What the owner of a partition knew of its monitors (the newest usable result of each probe …), written behind as one piece; what came
-- after it is read from results. Only a start reads it, and does without if need be.
create table checkpoints (
  partition smallint primary key,
  taken_at timestamptz not null,
  state bytea not null
);

create table rollups (
  monitor_key bigint not null,
  continent text not null,
  hour timestamptz not null,
  ok int not null,
  failed int not null,
  unknown int not null,
  took_sum double precision not null,
  took_min real,
  took_max real,
  primary key (monitor_key, hour, continent)
);
-- Hours that got results after they were rolled up.
create table stale_hours (hour timestamptz primary key);

create table incidents (
  id uuid primary key,
  key bigint generated always as identity unique,
  organisation_id uuid not null references organisations on delete cascade,
  monitor_id uuid not null references monitors on delete cascade,
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
  constraint confirmed_from_another_continent check (confirmed_continent is null or confirmed_continent <> seen_continent),
  constraint confirmed_not_before_started check (confirmed_at is null or confirmed_at >= started_at),
  constraint resolved_not_before_started check (resolved_at is null or resolved_at >= started_at)
);
create unique index incidents_one_open on incidents (monitor_id) where resolved_at is null;
create index incidents_page on incidents (organisation_id, key);
create index incidents_monitor on incidents (monitor_id, started_at);

-- What the failing checks themselves saw, and what every other continent saw when asked (rule 15).
create table incident_evidence (
  incident_id uuid not null references incidents on delete cascade,
  part text not null check (part in ('seen', 'confirmed', 'matrix')),
  continent text not null,
  probe text not null,
  at timestamptz not null,
  outcome smallint not null,
  took_ms real not null,
  cause jsonb,
  phases jsonb,
  evidence jsonb,
  primary key (incident_id, part, continent)
);

-- Time that is not simply up or down: `paused` and `unknown` intervals of a monitor, with the interval then in force.
create table ledger (
  id bigint generated always as identity primary key,
  monitor_id uuid not null references monitors on delete cascade,
  kind text not null check (kind in ('paused', 'unknown')),
  began_at timestamptz not null,
  ended_at timestamptz,
  interval_s int not null,
  check (ended_at is null or ended_at >= began_at)
);
create unique index ledger_row on ledger (monitor_id, kind, began_at);
create unique index ledger_open on ledger (monitor_id, kind) where ended_at is null;

create table maintenance_windows (
  id uuid primary key,
  key bigint generated always as identity,
  organisation_id uuid not null references organisations on delete cascade,
  name text,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  -- The local time that repeats; where it did not exist on the first day, starts_at is later than it.
  local_start timestamp not null,
  rrule text,
  -- The organisation's zone when the window was made: occurrences keep its local time (rule 27).
  time_zone text not null,
  created_at timestamptz not null default now(),
  -- Deleted windows stay for the past that they covered (rule 24), and are shown to nobody.
  deleted_at timestamptz,
  -- Occurrences are written down up to here; null when there are no more.
  expanded_until timestamptz
);
create index maintenance_page on maintenance_windows (organisation_id, key) where deleted_at is null;
create index maintenance_expanding on maintenance_windows (expanded_until) where deleted_at is null and expanded_until is not null;

create table maintenance_occurrences (
  window_id uuid not null references maintenance_windows on delete cascade,
  began_at timestamptz not null,
  ended_at timestamptz not null,
  primary key (window_id, began_at)
);

create table maintenance_monitors (
  window_id uuid not null references maintenance_windows on delete cascade,
  monitor_id uuid not null references monitors on delete cascade,
  primary key (window_id, monitor_id)
);
create index maintenance_monitors_monitor on maintenance_monitors (monitor_id);

-- No reference to groups: a group may go, what its window covered stays covered.
create table maintenance_groups (
  window_id uuid not null references maintenance_windows on delete cascade,
  group_id uuid not null,
  primary key (window_id, group_id)
);
create index maintenance_groups_group on maintenance_groups (group_id);

create table status_pages (
  id uuid primary key,
  key bigint generated always as identity,
  organisation_id uuid not null references organisations on delete cascade,
  name text not null,
  slug text not null unique,
  description text,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  unique (organisation_id, id)
);
create index status_pages_page on status_pages (organisation_id, key);

create table status_page_groups (
  page_id uuid not null references status_pages on delete cascade,
  group_id uuid not null references groups on delete cascade,
  display_name text not null,
  position int not null,
  primary key (page_id, group_id)
);

create table status_page_monitors (
  page_id uuid not null references status_pages on delete cascade,
  monitor_id uuid not null references monitors on delete cascade,
  display_name text not null,
  group_id uuid,
  position int not null,
  primary key (page_id, monitor_id)
);

-- What a transaction wants done outside the database. `monitor`: the partition's owner re-reads the monitor and republishes its
-- assignment; `probe`: created, rotated or revoked; `beat_key`: for whoever holds the part.
create table outbox (
  id bigint generated always as identity primary key,
  topic text not null,
  partition smallint,
  organisation_id uuid,
  idempotency_key text unique,
  payload jsonb not null,
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  attempts int not null default 0,
  last_error text,
  done_at timestamptz
);
create index outbox_waiting on outbox (topic, partition, id) where done_at is null;

-- Alerts of incidents (rules 25, 28): one row for an incident, event and channel. Channels come with their own work; until then the channel is ''.
create table alerts (
  id bigint generated always as identity primary key,
  organisation_id uuid not null,
  monitor_id uuid not null,
  incident_id uuid not null,
  event text not null check (event in ('down', 'up', 'closed')),
  channel text not null default '',
  -- held: inside cover or before alert_after_s; due: to be sent; sent; dropped: resolved before it was due.
  state text not null check (state in ('held', 'due', 'sent', 'dropped')),
  due_at timestamptz,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  unique (incident_id, event, channel)
);
create index alerts_waiting on alerts (state, due_at) where state in ('held', 'due');
create index alerts_monitor on alerts (monitor_id) where state in ('held', 'due');

-- One coordinator owns a partition at a time; the epoch fences every write of an older owner.
create table leases (
  partition smallint primary key,
  owner uuid,
  epoch bigint not null default 0,
  expires_at timestamptz not null default 'epoch'
);
insert into leases (partition) select generate_series(0, 31);

-- Coordinators that are alive, so that each takes its share of the partitions.
create table coordinators (
  id uuid primary key,
  version text not null,
  seen_at timestamptz not null
);

-- Messages that could not be worked on, set aside for the operator; and refusals of the bus, counted by reason.
create table set_aside (
  id bigint generated always as identity primary key,
  subject text not null,
  reason text not null,
  data bytea not null,
  at timestamptz not null default now()
);
create table refused (
  day date not null,
  probe text not null,
  reason text not null,
  count bigint not null,
  primary key (day, probe, reason)
);

-- Notices for the operator: probe events, one for each event, never one for each monitor.
create table notices (
  id bigint generated always as identity primary key,
  kind text not null,
  subject text not null,
  message text not null,
  began_at timestamptz not null default now(),
  ended_at timestamptz
);
create unique index notices_open on notices (kind, subject) where ended_at is null;

-- Calls of a token in its present window, settled between coordinators in batches.
create unlogged table rate_windows (
  subject text primary key,
  began_at timestamptz not null,
  calls int not null
);

-- The last beats of a heartbeat monitor, with body and run time, for its page.
create table beats (
  id uuid primary key,
  monitor_id uuid not null references monitors on delete cascade,
  kind text not null,
  exit_code smallint,
  at timestamptz not null,
  rid uuid,
  run_ms bigint,
  method text not null,
  body text not null,
  ear text not null
);
create index beats_monitor on beats (monitor_id, at);

-- What the beats of a monitor come to (shared/checks/heartbeat/state.ts): the bus gets it back from here when it was wiped.
create table beat_states (
  monitor_id uuid primary key references monitors on delete cascade,
  state jsonb not null
);
