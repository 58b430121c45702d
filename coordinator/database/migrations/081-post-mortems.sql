-- What an organisation writes about an incident afterwards. Published, the status pages that show the incident show it too.
create table post_mortems (
  incident_id uuid primary key references incidents on delete cascade,
  organisation_id uuid not null references organisations on delete cascade,
  text text not null,
  written_by uuid references users on delete set null,
  written_at timestamptz not null,
  published_at timestamptz
);
create trigger changed_insert after insert on post_mortems referencing new table as rows for each statement execute function tell_changed();
create trigger changed_update after update on post_mortems referencing new table as rows for each statement execute function tell_changed();
create trigger changed_delete after delete on post_mortems referencing old table as rows for each statement execute function tell_changed();
