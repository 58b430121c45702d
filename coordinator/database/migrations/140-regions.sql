-- Where on its continent a public probe is; null: not said. Public probes of one continent and region are a place.
alter table probes add column region text;
alter table probe_invitations add column region text;
