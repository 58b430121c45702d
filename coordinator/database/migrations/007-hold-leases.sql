-- Whether leases still are their owner's is said by failing, so that all that a commit writes can follow at once, without waiting for an answer.
create function hold_leases(by_owner uuid, held smallint[], at_epochs bigint[]) returns void language plpgsql as $$
declare
  lost text;
begin
  -- In order of partition, as all lock them, and held until the transaction ends.
  perform 1 from leases l join unnest(held, at_epochs) as mine (partition, epoch) on mine.partition = l.partition and mine.epoch = l.epoch
    where l.owner = by_owner order by l.partition for share of l;
  select string_agg(mine.partition::text, ',' order by mine.partition) into lost
    from unnest(held, at_epochs) as mine (partition, epoch)
    left join leases l on l.partition = mine.partition and l.epoch = mine.epoch and l.owner = by_owner
    where l.partition is null;
  if lost is not null then
    raise exception using errcode = 'AP001', message = 'leases belong to another coordinator', detail = lost;
  end if;
end $$;
