-- A link that shows one incident to whoever has it, until it is withdrawn. Only a hash of its secret is kept.
create table incident_shares (
  incident_id uuid primary key references incidents on delete cascade,
  organisation_id uuid not null references organisations on delete cascade,
  fingerprint bytea not null unique,
  shared_by uuid references users on delete set null,
  shared_at timestamptz not null default now()
);

-- What people write about an incident.
create table incident_notes (
  id uuid primary key,
  incident_id uuid not null references incidents on delete cascade,
  organisation_id uuid not null,
  written_by uuid references users on delete set null,
  written_at timestamptz not null,
  text text not null
);
create index incident_notes_incident on incident_notes (incident_id, written_at);
