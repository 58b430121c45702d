-- How many monitors of an organisation have each kind and each tag: the filters of a list tell it. To count a hundred thousand for each page would
-- take longer than all else on it, so the database keeps it itself, as it keeps monitor_counts (028).
create table monitor_facets (
  organisation_id uuid not null,
  facet text not null check (facet in ('kind', 'tag')),
  value text not null,
  monitors int not null,
  primary key (organisation_id, facet, value)
);

create function count_facets(organisations uuid[], facets text[], vals text[], changes int[]) returns void language sql as $$
  insert into monitor_facets as c (organisation_id, facet, value, monitors)
  select o, f, v, sum(n) from unnest(organisations, facets, vals, changes) r (o, f, v, n)
  group by 1, 2, 3 having sum(n) <> 0 order by 1, 2, 3
  on conflict (organisation_id, facet, value) do update set monitors = c.monitors + excluded.monitors;
  delete from monitor_facets where organisation_id = any (organisations) and monitors = 0;
$$;

create function count_facets_of_rows() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform count_facets(array_agg(organisation_id), array_agg(facet), array_agg(value), array_agg(1)) from (
      select organisation_id, 'kind' as facet, type as value from added
      union all select organisation_id, 'tag', unnest(tags) from added) f;
  elsif tg_op = 'DELETE' then
    perform count_facets(array_agg(organisation_id), array_agg(facet), array_agg(value), array_agg(-1)) from (
      select organisation_id, 'kind' as facet, type as value from removed
      union all select organisation_id, 'tag', unnest(tags) from removed) f;
  else
    perform count_facets(array_agg(organisation_id), array_agg('tag'::text), array_agg(value), array_agg(n)) from (
      select a.organisation_id, unnest(a.tags) as value, 1 as n from added a join removed r on r.id = a.id where a.tags <> r.tags
      union all select r.organisation_id, unnest(r.tags), -1 from added a join removed r on r.id = a.id where a.tags <> r.tags) f
    having count(*) > 0;
  end if;
  return null;
end $$;
create function count_no_facets() returns trigger language plpgsql as $$
begin
  delete from monitor_facets;
  return null;
end $$;
create trigger facets_truncate after truncate on monitors for each statement execute function count_no_facets();
create trigger facets_insert after insert on monitors referencing new table as added for each statement execute function count_facets_of_rows();
create trigger facets_delete after delete on monitors referencing old table as removed for each statement execute function count_facets_of_rows();
create trigger facets_update after update on monitors referencing old table as removed new table as added
  for each statement execute function count_facets_of_rows();

insert into monitor_facets select organisation_id, 'kind', type, count(*) from monitors group by 1, 2, 3;
insert into monitor_facets select organisation_id, 'tag', tag, count(*) from monitors, unnest(tags) tag group by 1, 2, 3;

-- A search finds monitors by their tags too: the words of a status hold them after the rest. Otherwise as in migration 028.
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
    lower(m.name || ' ' || m.target || coalesce(' ' || g.name, '')) || coalesce(' ' || nullif(array_to_string(m.tags, ' '), ''), '')
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
select refresh_status(array(select id from monitors where tags <> '{}'));
