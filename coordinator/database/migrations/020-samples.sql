-- What the continents saw during an incident (rule 42): copied from the results when it ends, because those are dropped by the day.
-- points: [[at in ms, continent, probe, outcome, took_ms, cause_class], …] in order of time. whole: nothing was thinned out.
create table incident_samples (
  incident_id uuid primary key references incidents on delete cascade,
  points jsonb not null,
  whole boolean not null
);
alter table incidents add column frozen_at timestamptz;
-- Those that are to be frozen once more, or for the first time.
create index incidents_unfrozen on incidents (resolved_at) where frozen_at is null or resolved_at is null or frozen_at < resolved_at;
