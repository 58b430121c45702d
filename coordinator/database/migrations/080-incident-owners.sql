-- Who has had an incident, in order. The present owner stands in `incidents` (acknowledged_at, acknowledged_by, acknowledged_as).
create table incident_owners (
  id bigint generated always as identity primary key,
  incident_id uuid not null references incidents on delete cascade,
  organisation_id uuid not null references organisations on delete cascade,
  at timestamptz not null,
  event text not null check (event in ('acknowledged', 'assigned', 'handed_back')),
  -- Names as they were then: of the owner, and of the person who assigned or handed back.
  owner text not null,
  by_name text
);
create index incident_owners_incident on incident_owners (incident_id, id);

insert into incident_owners (incident_id, organisation_id, at, event, owner)
select id, organisation_id, acknowledged_at, 'acknowledged', coalesce(acknowledged_as, '') from incidents where acknowledged_at is not null;

-- As before, and an event when an open incident is handed back.
create or replace function write_incident_events() returns trigger language plpgsql as $$
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
        (3, 'incident.unacknowledged', r.acknowledged_at is not null and a.acknowledged_at is null and a.resolved_at is null),
        (4, 'incident.resolved', r.resolved_at is null and a.resolved_at is not null)) e (nth, what, is_so)
    where e.is_so order by a.key, e.nth;
  end if;
  return null;
end $$;
