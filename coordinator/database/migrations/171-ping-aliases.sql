-- Ping addresses that monitors brought from elsewhere, as /ping/<uuid>: the fingerprint alone; the alias itself is a secret of the monitor's config. One
-- belongs to one monitor of all organisations. No reference to monitors: one in the trash keeps its alias, so that it can be restored with it.
create table ping_aliases (
  fingerprint bytea primary key,
  organisation_id uuid not null references organisations on delete cascade,
  monitor_id uuid not null unique
);
create index ping_aliases_of on ping_aliases (organisation_id);
