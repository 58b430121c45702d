-- Join tokens: each lets one host become one probe. Stored as a fingerprint; once spent, the row says to which key, so that the same host can ask again.
create table probe_invitations (
  id uuid primary key,
  key bigint generated always as identity unique,
  -- Null: a public probe, which only the operator invites.
  organisation_id uuid references organisations on delete cascade,
  name text not null,
  continent text not null,
  fingerprint bytea not null unique,
  -- How the token begins, to know it by.
  shown text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  used_at timestamptz,
  used_key text,
  probe_id uuid references probes on delete cascade
);
create index probe_invitations_of on probe_invitations (organisation_id, key);
-- Organisations name their own probes now: what others call theirs is not theirs to learn, and a probe that was ended leaves its name.
alter table probes drop constraint probes_name_key;
create unique index probes_name_key on probes (coalesce(organisation_id, '00000000-0000-0000-0000-000000000000'), name) where revoked_at is null;
