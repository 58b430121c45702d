import { randomUUID } from 'node:crypto';
import type { Assignment } from '../../../shared/checks/assignment.ts';

/** An https check of this target every second, or whatever a test makes of it. */
export const assignmentOf = (target: string, more: Partial<Assignment> = {}): Assignment => ({
  monitor: randomUUID(),
  organisation: randomUUID(),
  kind: 'https',
  target,
  interval_ms: 1_000,
  timeout_ms: 900,
  config: {},
  sealed: null,
  config_version: 1,
  ordinal: 1,
  continents: null,
  probe: null,
  ...more,
});
