-- What each coordinator knows of a probe whose failures are refuted, from the monitors that it decides about, so that all of them together judge the
-- probe. Rows stand only while anybody has a refutation to tell; those of a coordinator that is gone go with it.
create table refutations (
  coordinator_id uuid not null references coordinators on delete cascade,
  probe_id uuid not null references probes on delete cascade,
  -- Hashes of hosts that the probe checks, and those of them that are refuted with until when that counts.
  share jsonb not null,
  primary key (coordinator_id, probe_id)
);
create index refutations_probe on refutations (probe_id);
