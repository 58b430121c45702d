-- What an organisation moves in from elsewhere: first a draft, then what was made of it, so that it can be undone for an hour.
create table imports (
  id uuid primary key,
  organisation_id uuid not null references organisations on delete cascade,
  source text not null,
  -- Sealed: old ping addresses are secrets.
  objects bytea not null,
  omissions jsonb not null,
  variables jsonb not null,
  created_at timestamptz not null,
  applied_at timestamptz,
  -- Kind and id of everything that it created.
  made jsonb not null default '[]',
  undone_at timestamptz
);
create index imports_of on imports (organisation_id);
