-- Mails that wait, as what they are about: their text, and the secret in it, is made when they are sent, so that no secret lies here.
create table mails (
  id uuid primary key,
  kind text not null,
  recipient text not null,
  about jsonb not null,
  created_at timestamptz not null,
  -- When it is to be tried next; moved ahead by whoever takes it, so that no other does meanwhile.
  next_at timestamptz not null,
  attempts int not null default 0,
  done_at timestamptz,
  failed_at timestamptz,
  failure text
);
create index mails_waiting on mails (next_at) where done_at is null and failed_at is null;
