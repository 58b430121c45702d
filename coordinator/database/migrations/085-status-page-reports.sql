-- What people report on a status page themselves: an incident that no check confirmed, degraded service, an announcement. It never counts into uptime.
create table status_page_reports (
  id uuid primary key,
  key bigint generated always as identity unique,
  page_id uuid not null references status_pages on delete cascade,
  organisation_id uuid not null,
  title text not null,
  started_at timestamptz not null,
  -- Null until somebody says when; in the future for an announcement that ends by itself.
  ends_at timestamptz check (ends_at >= started_at)
);
create index status_page_reports_page on status_page_reports (page_id, key);

-- How much a report affects monitors of its page.
create table status_page_report_monitors (
  report_id uuid not null references status_page_reports on delete cascade,
  monitor_id uuid not null references monitors on delete cascade,
  impact text not null check (impact in ('degraded', 'partial_outage', 'major_outage')),
  primary key (report_id, monitor_id)
);
create index status_page_report_monitors_monitor on status_page_report_monitors (monitor_id);

-- What is said of a report, one after the other.
create table status_page_report_updates (
  id uuid primary key,
  key bigint generated always as identity unique,
  report_id uuid not null references status_page_reports on delete cascade,
  kind text not null check (kind in ('announcement', 'investigating', 'identified', 'monitoring', 'resolved')),
  text text not null,
  written_by uuid references users on delete set null,
  written_at timestamptz not null,
  -- When the notices to the page's subscribers were made.
  told_at timestamptz
);
create index status_page_report_updates_report on status_page_report_updates (report_id, key);
create index status_page_report_updates_untold on status_page_report_updates (key) where told_at is null;
