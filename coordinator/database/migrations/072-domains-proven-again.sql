-- When the record that proves a status page's domain was looked for last, and when it was found last.
alter table status_pages add column domain_checked_at timestamptz, add column domain_seen_at timestamptz;
