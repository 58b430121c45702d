-- What passing checks warn of (rule 44): a row from the beginning of a warning to its end and after.
create table warnings (
  id uuid primary key,
  key bigint generated always as identity unique,
  organisation_id uuid not null references organisations on delete cascade,
  monitor_id uuid not null references monitors on delete cascade,
  code text not null,
  -- What its sentence is made of; never text of a target.
  details jsonb not null,
  -- Start of the first check that saw it, of the check that confirmed it, and of the one with which it ended.
  began_at timestamptz not null,
  confirmed_at timestamptz not null,
  ended_at timestamptz,
  constraint warning_confirmed_not_before_began check (confirmed_at >= began_at),
  constraint warning_ended_not_before_confirmed check (ended_at is null or ended_at >= confirmed_at)
);
create unique index warnings_one_open on warnings (monitor_id, code) where ended_at is null;
create index warnings_open on warnings (organisation_id, code) where ended_at is null;
create index warnings_monitor on warnings (monitor_id, began_at);
create index warnings_ended on warnings (ended_at) where ended_at is not null;

-- What is to be told of a warning: that it began or became more urgent, and that it ended. Not told to anybody until it is planned.
create table warning_alerts (
  id bigint generated always as identity primary key,
  organisation_id uuid not null references organisations on delete cascade,
  monitor_id uuid not null references monitors on delete cascade,
  warning_id uuid not null references warnings on delete cascade,
  event text not null check (event in ('warning', 'warning_over')),
  details jsonb not null,
  created_at timestamptz not null default now(),
  planned_at timestamptz
);
create index warning_alerts_unplanned on warning_alerts (organisation_id, created_at) where planned_at is null;
create index warning_alerts_warning on warning_alerts (warning_id);

-- The certificate that each monitor's target showed last.
create table certificates (
  monitor_id uuid primary key references monitors on delete cascade,
  organisation_id uuid not null references organisations on delete cascade,
  fingerprint text not null,
  issuer text not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  seen_at timestamptz not null
);
create index certificates_end on certificates (organisation_id, ends_at);

alter table events add column warning text;

create function write_warning_events() returns trigger language plpgsql as $$
begin
  if not events_are_written() then return null; end if;
  if tg_op = 'INSERT' then
    insert into events (organisation_id, what, monitor_id, warning, name)
    select a.organisation_id, e.what, a.monitor_id, a.code, m.name from added a join monitors m on m.id = a.monitor_id
      cross join lateral (values (1, 'warning.started', true), (2, 'warning.ended', a.ended_at is not null)) e (nth, what, is_so)
    where e.is_so order by a.key, e.nth;
  else
    insert into events (organisation_id, what, monitor_id, warning, name)
    select a.organisation_id, e.what, a.monitor_id, a.code, m.name from added a join removed r on r.id = a.id join monitors m on m.id = a.monitor_id
      cross join lateral (values (1, 'warning.changed', a.details is distinct from r.details and a.ended_at is null),
        (2, 'warning.ended', r.ended_at is null and a.ended_at is not null)) e (nth, what, is_so)
    where e.is_so order by a.key, e.nth;
  end if;
  return null;
end $$;

create trigger events_insert after insert on warnings referencing new table as added for each statement execute function write_warning_events();
create trigger events_update after update on warnings referencing old table as removed new table as added
  for each statement execute function write_warning_events();
