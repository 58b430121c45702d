-- People come in. A session is a row, found by a fingerprint of what its browser's cookie holds.
alter table users add column email_verified_at timestamptz;

create table sessions (
  id uuid primary key,
  fingerprint bytea not null unique,
  user_id uuid not null references users on delete cascade,
  -- What its pages act in. When the membership ends, another one of the user's takes its place, if there is one.
  organisation_id uuid,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  -- When the user last proved to be who they are: at sign-in, and before dangerous acts.
  proven_at timestamptz not null,
  address text not null,
  device text not null,
  foreign key (organisation_id, user_id) references memberships on delete set null (organisation_id)
);
create index sessions_user on sessions (user_id);
create index sessions_membership on sessions (organisation_id, user_id);

-- Links that sign somebody in, once. That of a start lives until it is used or the service starts again.
create table sign_in_links (
  fingerprint bytea primary key,
  user_id uuid not null references users on delete cascade,
  made_for text not null check (made_for in ('start', 'operator')),
  created_at timestamptz not null,
  expires_at timestamptz
);

-- Tries at what can be guessed (passwords, codes), by the fingerprint of who tries at what.
create table attempts (
  subject bytea primary key,
  began_at timestamptz not null,
  tries int not null
);
