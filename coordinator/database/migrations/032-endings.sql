-- An organisation that its owner ends is kept for some days, in which that can be undone; then it is deleted, in bites.
alter table organisations add column ends_at timestamptz;
create index organisations_ending on organisations (ends_at) where ends_at is not null;

-- What undoing puts back, and how far the end has come.
create table endings (
  organisation_id uuid primary key references organisations on delete cascade,
  asked_at timestamptz not null,
  asked_by uuid references users on delete set null,
  -- The monitors that were not paused before.
  paused uuid[] not null,
  -- The mute that there was, if there was one.
  muted_until timestamptz,
  muted_by uuid references users on delete set null,
  -- When its owners were mailed for the last time.
  warned_at timestamptz,
  -- From here on nothing can be undone.
  begun_at timestamptz
);
