-- What changed, in an order that never gets a row in between: by the transaction that wrote it, then as it wrote. A reader is told of a row only when
-- every transaction that began to write before its own is over; so whoever goes on after a row that was told misses nothing, whichever commits last.
-- Not in a backup: the numbers of transactions are this database's own.
create table events (
  id bigint generated always as identity primary key,
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
  name text
);
create index events_page on events (organisation_id, written_by, id);
create index events_at on events (at);

-- What a backup brings back happened before.
create function events_are_written() returns boolean language sql stable as $$
  select coalesce(current_setting('antipode.restoring', true), '') <> 'on' $$;

create function write_incident_events() returns trigger language plpgsql as $$
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
    select a.organisation_id, e.what, a.monitor_id, a.id, m.name from added a join removed r on r.id = a.id join monitors m on m.id = a.monitor_id
      cross join lateral (values (1, 'incident.confirmed', r.confirmed_at is null and a.confirmed_at is not null),
        (2, 'incident.acknowledged', r.acknowledged_at is null and a.acknowledged_at is not null),
        (3, 'incident.resolved', r.resolved_at is null and a.resolved_at is not null)) e (nth, what, is_so)
    where e.is_so order by a.key, e.nth;
  end if;
  return null;
end $$;

-- Its version goes up with every change of what is checked, secrets included; that they are encrypted anew is no news.
create function write_monitor_events() returns trigger language plpgsql as $$
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
    select a.organisation_id, e.what, a.id, a.name from added a join removed r on r.id = a.id
      cross join lateral (values
        (1, 'monitor.changed', (a.name, a.target, a.interval_s, a.config, a.config_version, a.group_id, a.affects_group_status, a.external_id, a.tags)
          is distinct from (r.name, r.target, r.interval_s, r.config, r.config_version, r.group_id, r.affects_group_status, r.external_id, r.tags)),
        (2, 'monitor.paused', r.enabled and not a.enabled), (3, 'monitor.resumed', a.enabled and not r.enabled)) e (nth, what, is_so)
    where e.is_so order by a.key, e.nth;
  end if;
  return null;
end $$;

create function write_group_events() returns trigger language plpgsql as $$
begin
  if not events_are_written() then return null; end if;
  if tg_op = 'INSERT' then
    insert into events (organisation_id, what, group_id, name) select organisation_id, 'group.created', id, name from added order by key;
  elsif tg_op = 'DELETE' then
    insert into events (organisation_id, what, group_id, name)
    select r.organisation_id, 'group.deleted', r.id, r.name from removed r join organisations o on o.id = r.organisation_id order by r.key;
  else
    insert into events (organisation_id, what, group_id, name)
    select a.organisation_id, 'group.changed', a.id, a.name from added a join removed r on r.id = a.id
    where (a.name, a.description, a.external_id) is distinct from (r.name, r.description, r.external_id) order by a.key;
  end if;
  return null;
end $$;

-- A window is changed by several statements, and told of once. What it covered before is kept as a version of its own, which is no news.
create function write_maintenance_events() returns trigger language plpgsql as $$
begin
  if not events_are_written() then return null; end if;
  if tg_op = 'INSERT' then
    insert into events (organisation_id, what, window_id, name)
    select organisation_id, 'maintenance.created', id, name from added where version_of is null order by key;
  else
    insert into events (organisation_id, what, window_id, name)
    select a.organisation_id, e.what, a.id, a.name from added a join removed r on r.id = a.id
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

create function forget_events_of_organisation() returns trigger language plpgsql as $$
begin
  delete from events where organisation_id = old.id;
  return null;
end $$;

create trigger events_insert after insert on incidents referencing new table as added for each statement execute function write_incident_events();
create trigger events_update after update on incidents referencing old table as removed new table as added
  for each statement execute function write_incident_events();
create trigger events_insert after insert on monitors referencing new table as added for each statement execute function write_monitor_events();
create trigger events_update after update on monitors referencing old table as removed new table as added
  for each statement execute function write_monitor_events();
create trigger events_delete after delete on monitors referencing old table as removed for each statement execute function write_monitor_events();
create trigger events_insert after insert on groups referencing new table as added for each statement execute function write_group_events();
create trigger events_update after update on groups referencing old table as removed new table as added
  for each statement execute function write_group_events();
create trigger events_delete after delete on groups referencing old table as removed for each statement execute function write_group_events();
create trigger events_insert after insert on maintenance_windows referencing new table as added
  for each statement execute function write_maintenance_events();
create trigger events_update after update on maintenance_windows referencing old table as removed new table as added
  for each statement execute function write_maintenance_events();
create trigger events_forget after delete on organisations for each row execute function forget_events_of_organisation();
