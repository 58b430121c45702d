-- Ping keys of an organisation: under the address of one, each heartbeat that has an external id takes pings.
create table ping_keys (
  id uuid primary key,
  key bigint generated always as identity unique,
  organisation_id uuid not null references organisations on delete cascade,
  name text not null,
  -- How it begins, to know it by.
  shown text not null,
  -- Of the ping key itself, which is not kept.
  fingerprint bytea not null unique,
  -- By which ping receivers know that it may create monitors.
  creating bytea not null unique,
  created_at timestamptz not null,
  -- Set when it was rotated or ended: it still counts until then.
  until timestamptz
);
create index ping_keys_of on ping_keys (organisation_id);

-- Every heartbeat with an external id under every ping key: derived from both. No reference to monitors: what a deleted monitor leaves in the
-- trash has none, and one that is restored gets its own anew.
create table ping_key_addresses (
  fingerprint bytea primary key,
  organisation_id uuid not null references organisations on delete cascade,
  ping_key_id uuid not null references ping_keys on delete cascade,
  monitor_id uuid not null,
  until timestamptz
);
create index ping_key_addresses_monitor on ping_key_addresses (monitor_id);
create index ping_key_addresses_key on ping_key_addresses (ping_key_id);
