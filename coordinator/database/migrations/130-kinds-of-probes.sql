-- Kinds that a probe checks besides https, DNS and heartbeats, as it reports them with its presence.
alter table probes add column kinds text[] not null default '{}';
