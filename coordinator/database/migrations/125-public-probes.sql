-- Who asks: the key that signs the requests of a public probe, with its proof for the directory,
-- and the addresses that they come from. Probes report both with their presence.
alter table probes
  add column request_key jsonb,
  add column addresses text[] not null default '{}';
