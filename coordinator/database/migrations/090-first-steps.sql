-- Since when nobody of the organisation wants to see its first steps any more.
alter table organisations add column first_steps_hidden_at timestamptz;
