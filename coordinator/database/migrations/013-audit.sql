-- Who changed what, through what and from where; written by the gate with every change, in the change's own transaction.
create table audit_log (
  key bigint generated always as identity primary key,
  at timestamptz not null,
  -- Null for what belongs to a person or to the installation.
  organisation_id uuid references organisations on delete cascade,
  user_id uuid references users on delete set null,
  -- The e-mail address at that time, or what else acted.
  who text not null,
  through text not null check (through in ('page', 'api', 'assistant', 'operator')),
  token_name text,
  operation text not null,
  -- Without secrets: {about, before, after} or {about, sent}.
  changed jsonb not null,
  -- Null where no network lies between.
  address text
);
create index audit_log_organisation on audit_log (organisation_id, key);
create index audit_log_user on audit_log (user_id, key);
create index audit_log_at on audit_log (at);
