-- How many results a probe has said that it had to drop since it was started, and which start that was.
alter table probes add column dropped bigint not null default 0, add column dropped_session uuid;
