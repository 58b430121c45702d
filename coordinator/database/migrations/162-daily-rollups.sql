-- A monitor's day by hour and place, with sketches of its response times (coordinator/results/summary.ts). By day first: a day's rows are made one
-- after the other and deleted together, and a year of a monitor is 365 short searches either way.
create table daily_rollups (
  day date not null,
  monitor_key bigint not null,
  -- When its content last changed.
  made_at timestamptz not null,
  -- By place: the whole day, which a year is read from; and by the hour.
  whole bytea not null,
  hours bytea not null,
  primary key (day, monitor_key)
) with (
  -- The rows of monitors with many places stay whole.
  toast_tuple_target = 8160,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000
);
alter table daily_rollups alter column whole set storage external, alter column hours set storage external;

-- Days of monitors whose chunks changed since their row was made.
create table stale_days (
  day date not null,
  monitor_key bigint not null,
  since timestamptz not null default now(),
  primary key (day, monitor_key)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

create function mark_stale_days() returns trigger language plpgsql as $$
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
create trigger chunks_inserted after insert on chunks referencing new table as changed
  for each statement execute function mark_stale_days();
create trigger chunks_updated after update on chunks referencing new table as changed
  for each statement execute function mark_stale_days();
