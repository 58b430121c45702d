-- What programs call a monitor or a group in their own files, so that asking for it again finds it; and words that monitors are sorted by.
alter table monitors add column external_id text, add column tags text[] not null default '{}';
create unique index monitors_external_id on monitors (organisation_id, external_id) where external_id is not null;
create index monitors_tags on monitors using gin (tags);
alter table groups add column external_id text;
create unique index groups_external_id on groups (organisation_id, external_id) where external_id is not null;
