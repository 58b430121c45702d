-- A window that is changed keeps what it covered until then as a version of its own: a row that ended at that moment (rule 24), which is shown to
-- nobody and covers what the window had covered. No reference: both go with the organisation, and a version may be restored before its window.
alter table maintenance_windows add column version_of uuid;
-- What began before it was ended at it by somebody; the rule goes on with the next occurrence.
alter table maintenance_windows add column cut_at timestamptz;
create index maintenance_versions on maintenance_windows (version_of) where version_of is not null;
