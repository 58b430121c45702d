-- Views stand in the order that their user gave them; a new one comes last.
alter table views add column position int not null default 0;
update views v set position = o.position from (
  select user_id, organisation_id, name_folded,
    row_number() over (partition by user_id, organisation_id order by name_folded) as position from views) o
where (v.user_id, v.organisation_id, v.name_folded) = (o.user_id, o.organisation_id, o.name_folded);
