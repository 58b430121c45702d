-- Whether a coordinator publishes assignments by the envelope; those of the version before know single ones alone.
alter table coordinators add column envelopes boolean not null default false;
-- The places whose probes get single assignments, because one of them knows no envelopes. Null: all places.
alter table installation add column single_places text[];
