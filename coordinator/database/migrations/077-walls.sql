-- A link that shows the wall of an organisation on a television, until it is revoked: one at a time. Only a hash of its secret is kept.
create table wall_links (
  organisation_id uuid primary key references organisations on delete cascade,
  fingerprint bytea not null unique,
  made_by uuid references users on delete set null,
  made_at timestamptz not null default now()
);
