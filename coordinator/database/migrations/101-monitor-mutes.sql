-- A mute may be of one monitor; null: of everything.
alter table mutes
  add column monitor_id uuid references monitors on delete cascade,
  -- It ends with the outage that is open when it begins, or with the next one.
  add column until_resolved boolean not null default false;
create index mutes_monitor on mutes (monitor_id, until) where monitor_id is not null;
