-- What a call was answered that named a key, so that the same call sent again gets the same answer and does nothing. The row is written by the transaction
-- that did what was asked: so there is never an effect without its answer, nor an answer without its effect. Kept for a day. Not in a backup: what a
-- restored database knows of a call is older than what its caller knows.
create table kept_answers (
  organisation_id uuid not null references organisations on delete cascade,
  -- A fingerprint of the token and the key that it named.
  call bytea not null,
  -- A fingerprint of what was asked: the method, the address and the body.
  request bytea not null,
  answered_at timestamptz not null,
  -- Encrypted, as it may hold what is shown once; null where it was too large to keep.
  answer bytea,
  primary key (organisation_id, call)
);
alter table kept_answers alter column answer set storage external;
create index kept_answers_at on kept_answers (answered_at);
