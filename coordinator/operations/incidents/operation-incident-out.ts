import { causeSentence } from '../../../shared/checks/causes.ts';
import type { ShownIncident } from '../../store/store-incidents-read.ts';

const probeRef = (name: string | null, continent: string | null) => (name === null || continent === null ? null : { name, continent });

/** An incident as answers give it at this moment; its cause is a sentence of our own list, never text of the target. */
export const incidentOut = (row: ShownIncident, now: number) => ({
  id: row.id,
  monitor: row.monitor_id,
  monitor_name: row.monitor_name,
  cause: row.cause === null ? null : causeSentence(row.cause),
  started_at: row.started_at.toISOString(),
  confirmed_at: row.confirmed_at?.toISOString() ?? null,
  resolved_at: row.resolved_at?.toISOString() ?? null,
  open: row.resolved_at === null,
  seen_from: probeRef(row.seen_probe, row.seen_continent),
  confirmed_from: probeRef(row.confirmed_probe, row.confirmed_continent),
  note: row.note,
  scope: row.scope,
  layer: row.layer,
  acknowledged_at: row.acknowledged_at?.toISOString() ?? null,
  acknowledged_by: row.acknowledged_as,
  // A clock of ours that is behind a probe's makes no outage of negative length.
  duration_s: Math.max(0, (row.resolved_at?.getTime() ?? now) - row.started_at.getTime()) / 1_000,
});
