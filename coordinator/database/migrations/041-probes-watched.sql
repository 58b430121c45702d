-- Whoever watches a host become a probe sees it at once: when the token is spent, and when the probe is heard for the first time.
create trigger changed_update after update on probe_invitations referencing new table as rows for each statement execute function tell_changed();
create function tell_first_heard() returns trigger language plpgsql as $$
begin
  perform pg_notify('changed', new.organisation_id::text);
  return null;
end $$;
create trigger first_heard after update of last_seen_at on probes for each row
  when (old.last_seen_at is null and new.last_seen_at is not null and new.organisation_id is not null) execute function tell_first_heard();
