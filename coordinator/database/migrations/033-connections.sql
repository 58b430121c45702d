-- Assistants that act as the person who connected them. A connection is also the OAuth grant, under the same id: whatever ends it ends all that
-- was given out under it, in the same statement.
create table connections (
  id uuid primary key,
  key bigint generated always as identity unique,
  organisation_id uuid not null,
  user_id uuid not null,
  client_id text not null,
  -- What the client calls itself, and the host that its answers went back to. Both are the word of a stranger.
  client_name text not null,
  redirect_host text not null,
  scope text not null check (scope in ('read', 'read_write')),
  created_at timestamptz not null,
  last_used_at timestamptz,
  -- A connection ends with the membership of whoever made it.
  foreign key (organisation_id, user_id) references memberships on delete cascade
);
create index connections_owner on connections (organisation_id, user_id);
create index connections_client on connections (client_id);

-- What the signing-in of assistants remembers between two requests, whichever coordinators take them: codes, tokens, clients that registered
-- themselves, consents under way. What lets somebody in is found by a fingerprint and stored nowhere.
create table oauth_records (
  model text not null,
  fingerprint bytea not null,
  connection_id uuid references connections on delete cascade,
  payload jsonb not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  consumed_at timestamptz,
  primary key (model, fingerprint)
);
create index oauth_records_connection on oauth_records (connection_id) where connection_id is not null;
create index oauth_records_by_end on oauth_records (expires_at) where expires_at is not null;
