-- When an organisation had a config tried lately (rule 41: ten times a minute). What was tried, and what it showed, is stored nowhere.
create table trials (
  organisation_id uuid not null references organisations on delete cascade,
  at timestamptz not null
);
create index trials_recent on trials (organisation_id, at);
