-- Since when what coordinators say must be signed, and since when they sign it. An installation without probes requires it from the start.
alter table installation add column signed_since timestamptz, add column signing_offered_at timestamptz not null default now();
update installation set signed_since = now() where not exists (select 1 from probes);
alter table coordinators add column signs boolean not null default false;
-- Since when a private probe's credentials let it publish to its relay alone.
alter table probes add column relayed_at timestamptz;
