-- What the registry of a domain said last, by RDAP. It is public, so that one answer serves all organisations.
create table registrations (
  domain text primary key,
  answer jsonb not null,
  asked_at timestamptz not null
);
create index registrations_asked on registrations (asked_at);

-- IANA's list of registries' servers as it was read last; the version's own list holds until then.
create table registries (
  single boolean primary key default true check (single),
  list jsonb not null,
  read_at timestamptz not null
);
