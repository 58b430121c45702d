-- How each monitor is now, so that lists count, filter and sort by it without looking into its history. The database keeps it itself: whatever
-- changes what it is made of (the monitor, its incidents, its ledger) brings it up to date in the same transaction, and a restored backup too.
-- A page shows of each row what coordinator/monitors/status.ts says; this says the same but for the moment in which silence is noticed.
create table monitor_status (
  monitor_id uuid primary key references monitors on delete cascade,
  organisation_id uuid not null,
  monitor_key bigint not null,
  group_id uuid,
  status text not null check (status in ('pending', 'up', 'verifying', 'down', 'paused')),
  since timestamptz not null,
  -- Whether anybody has ever seen it: the first look closes an unknown stretch, which housekeeping forgets in time.
  seen boolean not null,
  name_folded text not null collate "C",
  -- Where it stands in a list by groups: the group's name, then its own; those without a group come last.
  place text not null collate "C",
  -- What a search looks in: name, target and group.
  words text not null,
  -- The mean of the newest hour that is rolled up.
  response_ms real
);
create index monitor_status_status on monitor_status (organisation_id, status);
create index monitor_status_place on monitor_status (organisation_id, place);
create index monitor_status_name on monitor_status (organisation_id, name_folded);
create index monitor_status_since on monitor_status (organisation_id, since);
create index monitor_status_group on monitor_status (group_id) where group_id is not null;
create index monitor_status_key on monitor_status (monitor_key);
create index monitor_status_unseen on monitor_status (monitor_key) where not seen;

create function refresh_status(ids uuid[]) returns void language plpgsql as $$
begin
  -- Locked before it is looked at: a transaction that changes the same monitor has then been seen whole, or waits.
  perform 1 from monitor_status where monitor_id = any (ids) order by monitor_id for update;
  insert into monitor_status as s (monitor_id, organisation_id, monitor_key, group_id, status, since, seen, name_folded, place, words)
  select m.id, m.organisation_id, m.key, m.group_id,
    case
      when m.paused_at is not null then 'paused'
      when i.confirmed_at is not null then 'down'
      when i.started_at is not null then 'verifying'
      when l.gap_since is not null or not (coalesce(k.seen, false) or l.seen) then 'pending'
      else 'up'
    end,
    case
      when m.paused_at is not null then m.paused_at
      when i.confirmed_at is not null then i.confirmed_at
      when i.started_at is not null then i.started_at
      when l.gap_since is not null then greatest(l.gap_since, i.last_resolved_at, l.resumed_at)
      else greatest(m.created_at, i.last_resolved_at, l.last_gap_ended_at, l.resumed_at)
    end,
    coalesce(k.seen, false) or l.seen,
    lower(m.name),
    coalesce(g.name_folded || chr(1), chr(65533)) || lower(m.name),
    lower(m.name || ' ' || m.target || coalesce(' ' || g.name, ''))
  from monitors m
  left join monitor_status k on k.monitor_id = m.id
  left join groups g on g.id = m.group_id
  cross join lateral (
    select max(began_at) filter (where kind = 'unknown' and ended_at is null) as gap_since,
      max(ended_at) filter (where kind = 'unknown') as last_gap_ended_at,
      max(ended_at) filter (where kind = 'paused') as resumed_at,
      coalesce(bool_or(kind = 'unknown' and ended_at is not null), false) as seen
    from ledger where monitor_id = m.id) l
  cross join lateral (
    select max(started_at) filter (where resolved_at is null) as started_at,
      max(confirmed_at) filter (where resolved_at is null) as confirmed_at,
      max(resolved_at) as last_resolved_at
    from incidents where monitor_id = m.id) i
  where m.id = any (ids)
  on conflict (monitor_id) do update set group_id = excluded.group_id, status = excluded.status, since = excluded.since, seen = excluded.seen,
    name_folded = excluded.name_folded, place = excluded.place, words = excluded.words
  where (s.group_id, s.status, s.since, s.seen, s.name_folded, s.place, s.words)
    is distinct from (excluded.group_id, excluded.status, excluded.since, excluded.seen, excluded.name_folded, excluded.place, excluded.words);
end $$;

create function refresh_status_of_rows() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'monitors' then perform refresh_status(array(select id from rows));
  elsif tg_table_name = 'groups' then
    perform refresh_status(array(select m.id from monitors m join rows r on r.id = m.group_id));
  else perform refresh_status(array(select distinct monitor_id from rows));
  end if;
  return null;
end $$;

create trigger status_insert after insert on monitors referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger status_update after update on monitors referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger status_update after update on groups referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger status_insert after insert on incidents referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger status_update after update on incidents referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger status_insert after insert on ledger referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger status_update after update on ledger referencing new table as rows for each statement execute function refresh_status_of_rows();
create trigger status_delete after delete on ledger referencing old table as rows for each statement execute function refresh_status_of_rows();

-- A look whose clock is a little behind ours closes no stretch: a monitor that has results was seen.
create function mark_seen() returns void language plpgsql as $$
declare ids uuid[];
begin
  ids := array(select monitor_id from monitor_status s where not seen
    and exists (select 1 from results r where r.monitor_key = s.monitor_key and r.outcome < 2));
  if cardinality(ids) = 0 then return; end if;
  update monitor_status set seen = true where monitor_id = any (ids);
  perform refresh_status(ids);
end $$;

select refresh_status(array(select id from monitors));
select mark_seen();

-- How many incidents are open stands beside every page.
create index incidents_open on incidents (organisation_id) where resolved_at is null;
