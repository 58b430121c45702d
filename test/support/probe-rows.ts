import type { ProbeRow } from '../../coordinator/probes/queries.ts';
import { newId } from '../../shared/base/crypto.ts';

/** A public probe's row as tests need it: seen at its creation, and nothing wrong with it. */
export const probeRow = (name: string, at: number, more: Partial<ProbeRow> = {}): ProbeRow => ({
  id: newId(),
  key: 1,
  organisation_id: null,
  place_id: null,
  name,
  continent: 'Europe',
  region: null,
  keys: [],
  created_at: at,
  last_seen_at: at,
  clock_offset_ms: null,
  way: null,
  origin_as: null,
  quarantined_at: null,
  sick_at: null,
  doubted_at: null,
  doubt_reason: null,
  place_trusted_as: null,
  quarantine_reason: null,
  revoked_at: null,
  seal_key: null,
  allowed_cidrs: [],
  kinds: [],
  version: null,
  ear: null,
  request_key: null,
  addresses: [],
  ...more,
});
