-- By how much a probe corrects the clock of its host, as it last said; null where it has not said so.
alter table probes add column clock_offset_ms int;
