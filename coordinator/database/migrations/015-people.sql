-- Whoever was asked in: joins whoever signs in with it, once.
create table invitations (
  id uuid primary key,
  organisation_id uuid not null references organisations on delete cascade,
  email text not null,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  -- Null until its mail is made.
  fingerprint bytea unique,
  invited_by uuid references users on delete set null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create unique index invitations_email on invitations (organisation_id, lower(email));

-- Accounts that wait for their address to be proven.
create table sign_ups (
  id uuid primary key,
  fingerprint bytea unique,
  email text not null,
  name text not null,
  password_hash text not null,
  -- The organisation to be made, or the invitation that was followed.
  organisation text,
  time_zone text,
  invitation_id uuid references invitations on delete set null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);

create table email_verifications (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  email text not null,
  fingerprint bytea unique,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index email_verifications_user on email_verifications (user_id);

create table password_resets (
  fingerprint bytea primary key,
  user_id uuid not null references users on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index password_resets_user on password_resets (user_id);
