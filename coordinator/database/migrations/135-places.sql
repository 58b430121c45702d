-- Private probes belong to places: the probes of one share its monitors, and one checks for another that is lost.
-- A place has the id of its first probe, so that monitors that name that probe name its place.
create table places (
  id uuid primary key,
  organisation_id uuid not null references organisations on delete cascade,
  name text not null,
  continent text not null,
  created_at timestamptz not null default now()
);
create index places_of on places (organisation_id);
insert into places (id, organisation_id, name, continent, created_at)
  select id, organisation_id, name, continent, created_at from probes where organisation_id is not null;
-- Null: a public probe, or a private one that a coordinator of the version before made, which is a place of its own.
alter table probes add column place_id uuid references places on delete cascade;
update probes set place_id = id where organisation_id is not null;
-- The place that the probe joins; null: one of its own.
alter table probe_invitations add column place_id uuid references places on delete cascade;
