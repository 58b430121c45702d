-- How many monitors an organisation has in each of its groups, and in none. A page tells it; to count a hundred thousand for each page would take
-- longer than all else on it. The database keeps it itself, in the same transaction. Only who makes, deletes or moves monitors writes here.
create table monitor_counts (
  organisation_id uuid not null,
  -- All zeros: those in no group.
  group_id uuid not null,
  monitors int not null,
  primary key (organisation_id, group_id)
);

create function count_monitors(organisations uuid[], groups uuid[], changes int[]) returns void language sql as $$
  insert into monitor_counts as c (organisation_id, group_id, monitors)
  select o, coalesce(g, '00000000-0000-0000-0000-000000000000'), sum(n) from unnest(organisations, groups, changes) r (o, g, n)
  group by 1, 2 having sum(n) <> 0 order by 1, 2
  on conflict (organisation_id, group_id) do update set monitors = c.monitors + excluded.monitors;
$$;

create function count_inserted_monitors() returns trigger language plpgsql as $$
begin
  perform count_monitors(array_agg(organisation_id), array_agg(group_id), array_agg(1)) from added;
  return null;
end $$;
create function count_deleted_monitors() returns trigger language plpgsql as $$
begin
  perform count_monitors(array_agg(organisation_id), array_agg(group_id), array_agg(-1)) from removed;
  delete from monitor_counts where organisation_id in (select organisation_id from removed) and monitors = 0;
  return null;
end $$;
create function count_moved_monitors() returns trigger language plpgsql as $$
begin
  perform count_monitors(array_agg(organisation_id), array_agg(group_id), array_agg(n)) from (
    select a.organisation_id, a.group_id, 1 as n from added a join removed r on r.id = a.id where a.group_id is distinct from r.group_id
    union all select r.organisation_id, r.group_id, -1 from added a join removed r on r.id = a.id where a.group_id is distinct from r.group_id) moved;
  return null;
end $$;
create function count_no_monitors() returns trigger language plpgsql as $$
begin
  delete from monitor_counts;
  return null;
end $$;
create trigger count_truncate after truncate on monitors for each statement execute function count_no_monitors();
create trigger count_insert after insert on monitors referencing new table as added for each statement execute function count_inserted_monitors();
create trigger count_delete after delete on monitors referencing old table as removed for each statement execute function count_deleted_monitors();
create trigger count_update after update on monitors referencing old table as removed new table as added
  for each statement execute function count_moved_monitors();

insert into monitor_counts select organisation_id, coalesce(group_id, '00000000-0000-0000-0000-000000000000'), count(*) from monitors group by 1, 2;

-- The status of a group asks whether there is any member of a status that counts for it, not how many.
alter table monitor_status add column affects boolean not null default true;
update monitor_status s set affects = false from monitors m where m.id = s.monitor_id and not m.affects_group_status;
create index monitor_status_standing on monitor_status (group_id, affects, status) where group_id is not null;
drop index monitor_status_group;

create or replace function refresh_status(ids uuid[]) returns void language plpgsql as $$
begin
  -- Locked before it is looked at: a transaction that changes the same monitor has then been seen whole, or waits.
  perform 1 from monitor_status where monitor_id = any (ids) order by monitor_id for update;
  insert into monitor_status as s (monitor_id, organisation_id, monitor_key, group_id, affects, status, since, seen, name_folded, place, words)
  select m.id, m.organisation_id, m.key, m.group_id, m.affects_group_status,
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
  on conflict (monitor_id) do update set group_id = excluded.group_id, affects = excluded.affects, status = excluded.status, since = excluded.since, seen = excluded.seen,
    name_folded = excluded.name_folded, place = excluded.place, words = excluded.words
  where (s.group_id, s.affects, s.status, s.since, s.seen, s.name_folded, s.place, s.words)
    is distinct from (excluded.group_id, excluded.affects, excluded.status, excluded.since, excluded.seen, excluded.name_folded, excluded.place, excluded.words);
end $$;
