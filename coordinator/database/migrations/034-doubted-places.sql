-- A public probe that cannot be on the continent that it claims confirms nothing (rule 16) until the operator says that it can: of that continent alone.
alter table probes add column doubted_at timestamptz, add column doubt_reason text, add column place_trusted_as text;
