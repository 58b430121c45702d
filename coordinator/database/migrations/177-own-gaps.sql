-- When what it checks was last edited: the gap that follows begins anew, others keep the time since
-- when a monitor is up (rule 18). Of the precision of the engine, which writes the same moment to
-- the ledger. Otherwise as in migration 075.
alter table monitors add column edited_at timestamptz;
create function note_edit() returns trigger language plpgsql as $$
begin
  new.edited_at := date_trunc('milliseconds', now());
  return new;
end $$;
create trigger note_edit before update on monitors for each row
  when (new.config_version <> old.config_version) execute function note_edit();

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
      else greatest(m.created_at, i.last_resolved_at, l.last_gap_ended_at, l.resumed_at, m.edited_at)
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
      max(ended_at) filter (where kind = 'unknown' and (began_at <= m.created_at
        or began_at <= m.edited_at and ended_at >= m.edited_at
        or exists (select from ledger p where p.monitor_id = m.id and p.kind = 'paused'
          and p.ended_at between ledger.began_at and ledger.ended_at))) as last_gap_ended_at,
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
select refresh_status(array(select id from monitors));
