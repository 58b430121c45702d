import type { Result } from '../../../shared/checks/result.ts';

/** The id of a monitor of this partition. */
export const monitorIn = (partition: number, number = 0): string =>
  `00000000-0000-4000-8000-${(number * 32 + partition).toString(16).padStart(12, '0')}`;

export const resultOf = (monitor: string, at: number, more: Partial<Result> = {}): Omit<Result, 'seq'> => ({
  monitor,
  config_version: 1,
  at,
  took_ms: 12.5,
  outcome: 'ok',
  cause: null,
  phases: null,
  evidence: null,
  look: null,
  ...more,
});
