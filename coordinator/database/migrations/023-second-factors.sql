-- The second step of signing in: a secret that an app on somebody's phone makes codes of, and codes for the day when the phone is away.
create table second_factors (
  user_id uuid primary key references users on delete cascade,
  -- Encrypted.
  secret bytea not null,
  created_at timestamptz not null,
  -- The half minute whose code was taken last: neither it nor an earlier one is taken again.
  last_step bigint not null
);

-- A code that was used is no more.
create table recovery_codes (
  user_id uuid not null references second_factors on delete cascade,
  fingerprint bytea not null,
  primary key (user_id, fingerprint)
);

-- Whose password was right, and who has still to show a code.
create table second_steps (
  fingerprint bytea primary key,
  user_id uuid not null references users on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index second_steps_user on second_steps (user_id);
