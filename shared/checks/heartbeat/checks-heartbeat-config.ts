import { z } from 'zod';
import type { Config } from '../checks-assignment.ts';
import { type ConfigFault, everyKindSchemas, type KeySchemas, type KindConfig, keyFaults } from '../checks-kind-config.ts';
import { type Cron, parseCron } from './checks-heartbeat-cron.ts';
import { heartbeatKeys } from './checks-heartbeat-keys.ts';
import { isTimeZone } from './checks-heartbeat-schedule.ts';

const cronText = z
  .string()
  .max(100)
  .refine((text) => typeof parseCron(text) !== 'string');

const schemas = {
  ...everyKindSchemas,
  grace_s: z.int().min(0).max(31_536_000),
  schedule: cronText,
  timezone: z.string().max(64).refine(isTimeZone),
  max_run_s: z.int().min(1).max(2_592_000),
} satisfies KeySchemas<keyof typeof heartbeatKeys>;

const clashes = (config: Config): ConfigFault[] =>
  typeof config.timezone === 'string' && typeof config.schedule !== 'string'
    ? [{ key: 'timezone', remedy: 'give a `schedule` too; an interval is the same in every zone' }]
    : [];

/** What exactly is wrong with a cron expression stands instead of the general remedy. */
const explained = (fault: ConfigFault, config: Config): ConfigFault => {
  const schedule = config.schedule;
  const reason = fault.key === 'schedule' && typeof schedule === 'string' ? parseCron(schedule) : undefined;
  return typeof reason === 'string' ? { ...fault, remedy: reason } : fault;
};

export const heartbeatConfig: KindConfig = {
  schemas,
  faults: (config) => {
    const own = keyFaults(schemas, heartbeatKeys, config).map((fault) => explained(fault, config));
    return own.length > 0 ? own : clashes(config);
  },
  secretPaths: () => [],
};

/** What was agreed with the job: when a ping is due, and how long a run may take. */
export type PingTerms = {
  readonly interval_ms: number;
  readonly grace_ms: number;
  readonly schedule: { readonly text: string; readonly cron: Cron; readonly zone: string } | null;
  readonly max_run_ms: number | null;
};

const leastGraceMs = 30_000;

/** The terms of a stored config. A schedule that this version cannot read leaves the interval in force. */
export const pingTerms = (of: { readonly interval_ms: number; readonly config: Config }): PingTerms => {
  const { grace_s, schedule, timezone, max_run_s } = of.config;
  const cron = typeof schedule === 'string' ? parseCron(schedule) : undefined;
  const zone = typeof timezone === 'string' && isTimeZone(timezone) ? timezone : 'UTC';
  return {
    interval_ms: of.interval_ms,
    grace_ms: typeof grace_s === 'number' ? grace_s * 1_000 : Math.max(leastGraceMs, Math.floor(of.interval_ms / 5)),
    schedule: typeof cron === 'object' && typeof schedule === 'string' ? { text: schedule, cron, zone } : null,
    max_run_ms: typeof max_run_s === 'number' ? max_run_s * 1_000 : null,
  };
};
