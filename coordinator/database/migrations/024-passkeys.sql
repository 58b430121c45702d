-- Keys that somebody's phone, computer or stick keeps, and that sign in without a password. Only the public halves are here.
create table passkeys (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  credential_id text not null unique,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  name text not null,
  -- Whether it is copied to other devices of its owner.
  is_synced boolean not null,
  created_at timestamptz not null,
  last_used_at timestamptz
);
create index passkeys_user on passkeys (user_id);

-- What a passkey is asked to sign: good once, for what it was asked for, and for who asked.
create table passkey_challenges (
  fingerprint bytea primary key,
  purpose text not null check (purpose in ('add', 'prove', 'sign in')),
  -- Null for who is not signed in.
  user_id uuid references users on delete cascade,
  expires_at timestamptz not null
);
create index passkey_challenges_user on passkey_challenges (user_id);
