-- Every check of an organisation's last days as Parquet, made in the background for its owners and admins, and deleted after a week. In no backup.
create table archives (
  id uuid primary key,
  organisation_id uuid not null unique references organisations on delete cascade,
  created_at timestamptz not null,
  created_by text not null,
  -- No day is added any more.
  ended_at timestamptz,
  is_too_large boolean not null default false
);
-- A day that is whole.
create table archive_files (
  archive_id uuid not null references archives on delete cascade,
  organisation_id uuid not null,
  day date not null,
  checks int not null,
  bytes int not null,
  primary key (archive_id, day)
);
-- Its content. Those of a day without a file are of an attempt that was interrupted.
create table archive_pieces (
  archive_id uuid not null references archives on delete cascade,
  organisation_id uuid not null,
  day date not null,
  nth int not null,
  data bytea not null,
  primary key (archive_id, day, nth)
);
alter table archive_pieces alter column data set storage external;
