-- Tells whoever shows an organisation that something of it changed: pages that are open look again. The channel carries the organisation's id;
-- several changes of one transaction are told once.
create function tell_changed() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'ledger' then
    perform pg_notify('changed', changed.organisation_id::text) from (
      select distinct m.organisation_id from rows r join monitors m on m.id = r.monitor_id) as changed;
  else
    perform pg_notify('changed', changed.organisation_id::text) from (select distinct organisation_id from rows) as changed;
  end if;
  return null;
end $$;

create trigger changed_insert after insert on monitors referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on monitors referencing new table as rows for each statement execute function tell_changed();
create trigger changed_delete after delete on monitors referencing old table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on incidents referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on incidents referencing new table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on ledger referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on ledger referencing new table as rows for each statement execute function tell_changed();
create trigger changed_delete after delete on ledger referencing old table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on groups referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on groups referencing new table as rows for each statement execute function tell_changed();
create trigger changed_delete after delete on groups referencing old table as rows for each statement execute function tell_changed();
create trigger changed_insert after insert on maintenance_windows referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on maintenance_windows referencing new table as rows for each statement execute function tell_changed();
