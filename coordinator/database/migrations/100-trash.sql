-- Deleted monitors stay here for a week. All their rows move, so that no other statement has to leave them out. Results and rollups refer to a
-- monitor by its key and stay where they are, until it is deleted for ever (forgotten_monitors).
create table deleted_monitors (
  key bigint generated always as identity unique,
  monitor_id uuid primary key,
  monitor_key bigint not null,
  organisation_id uuid not null references organisations on delete cascade,
  name text not null,
  type text not null,
  target text not null,
  -- Of the precision of the engine, which writes the same moment to the ledger.
  deleted_at timestamptz not null default date_trunc('milliseconds', now()),
  -- As that user or token was called then.
  deleted_by text not null
);
create index deleted_monitors_page on deleted_monitors (organisation_id, deleted_at);
create index deleted_monitors_old on deleted_monitors (deleted_at);

-- A row each, because a monitor's incidents with their evidence can be too large for one value.
create table deleted_rows (
  id bigint generated always as identity primary key,
  monitor_id uuid not null references deleted_monitors on delete cascade,
  source text not null,
  row jsonb not null,
  -- What is encrypted in it, apart: a rotation of keys must find it.
  box bytea
);
create index deleted_rows_monitor on deleted_rows (monitor_id, source);
create index deleted_rows_boxes on deleted_rows (id) where box is not null;

create trigger changed_insert after insert on deleted_monitors referencing new table as rows for each statement execute function tell_changed();
create trigger changed_delete after delete on deleted_monitors referencing old table as rows for each statement execute function tell_changed();
