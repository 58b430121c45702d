import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Config } from '../assignment.ts';
import {
  type ConfigFault,
  type ConfigKeys,
  everyKindKeys,
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
  type KindTarget,
  keyFaults,
} from '../kind-config.ts';
import type { CauseParams, CauseRow } from '../result.ts';
import { type Cron, isTimeZone, parseCron } from './schedule.ts';

export const heartbeatKeys = {
  ...everyKindKeys,
  grace_s: {
    meaning: 'How much later than agreed a ping may come, in seconds.',
    allowed: 'a whole number of seconds from 0 to 31,536,000',
    otherwise: 'a fifth of the interval, at least 30',
    example: 600,
  },
  schedule: {
    meaning: 'When pings are due, instead of the interval.',
    allowed: 'a cron expression of five fields, such as "30 2 * * *"',
    otherwise: 'every interval',
    example: '30 2 * * *',
  },
  timezone: {
    meaning: 'The time zone of the `schedule`.',
    allowed: 'a zone of the IANA database, such as "Europe/Berlin"',
    otherwise: 'UTC',
    example: 'Europe/Berlin',
  },
  max_run_s: {
    meaning:
      'How long a run may take from its `/start` to its end, in seconds; one that has not ended by then has failed.',
    allowed: 'a whole number of seconds from 1 to 2,592,000 (30 days)',
    otherwise: 'any time',
    example: 3_600,
  },
} as const satisfies ConfigKeys;

const units = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const;

const smallest = [1_000, 'second'] as const;
/** The largest unit that divides it. */
const exactUnitOf = (ms: number) =>
  units.find(([size]) => ms >= size && ms % size === 0) ?? smallest;
/** The largest unit that fits twice, or exactly once: 90 seconds are not "1 minute". */
const unitOf = (ms: number) => units.find(([size]) => ms >= 2 * size || ms === size) ?? smallest;

/** A duration, rounded down: a message never states a longer silence than there was. */
const span = (ms: number, [size, word] = unitOf(ms)): string => {
  const count = Math.floor(ms / size);
  return `${count} ${word}${count === 1 ? '' : 's'}`;
};

/** A configured duration, which must be exact, without the unit if the reader just read it. */
const agreed = (ms: number, justRead: string): string => {
  const [size, word] = exactUnitOf(ms);
  const count = ms / size;
  if (count === 1) return word;
  return word === justRead ? `${count}` : `${count} ${word}s`;
};

const limit = (ms: number): string => span(ms, exactUnitOf(ms));

const late = ({ silent_ms, every_ms, schedule }: CauseParams): string => {
  const silent = Number(silent_ms ?? 0);
  const expected =
    schedule === undefined
      ? `every ${agreed(Number(every_ms ?? 0), unitOf(silent)[1])}`
      : `by the schedule ${schedule}`;
  return `No heartbeat for ${span(silent)} (expected ${expected})`;
};

/**
 * Every cause of a heartbeat. `deadline` in the params is the missed instant, or the time of the
 * bad ping; `after` is the good ping from which it counts.
 */
export const heartbeatCauses = {
  heartbeat_late: { layer: 'heartbeat', sentence: late },
  heartbeat_failed: { layer: 'heartbeat', sentence: () => 'The job reported a failure' },
  heartbeat_exit_code: {
    layer: 'heartbeat',
    sentence: ({ exit_code }) => `The job ended with exit code ${exit_code}`,
  },
  heartbeat_unfinished: {
    layer: 'heartbeat',
    sentence: ({ max_run_ms }) =>
      `The job started and did not end within ${limit(Number(max_run_ms ?? 0))}`,
  },
  heartbeat_schedule_unread: {
    layer: 'probe',
    sentence: () => 'The probe runs on a Node older than 26, which cannot read a schedule',
  },
  heartbeat_pending: { layer: 'probe', sentence: () => 'No heartbeat has come yet' },
} satisfies Record<string, CauseRow>;

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

/** The exact fault of a cron expression replaces the general remedy. */
const explained = (fault: ConfigFault, config: Config): ConfigFault => {
  const schedule = config.schedule;
  const reason =
    fault.key === 'schedule' && typeof schedule === 'string' ? parseCron(schedule) : undefined;
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

/** The job's schedule: when a ping is due, and how long a run may take. */
export type PingSettings = {
  readonly interval_ms: number;
  readonly grace_ms: number;
  readonly schedule: { readonly text: string; readonly cron: Cron; readonly zone: string } | null;
  readonly max_run_ms: number | null;
};

const leastGraceMs = 30_000;

/**
 * The settings of a stored config. If this version cannot read the schedule, the interval remains
 * in force.
 */
export const pingSettings = (of: {
  readonly interval_ms: number;
  readonly config: Config;
}): PingSettings => {
  const { grace_s, schedule, timezone, max_run_s } = of.config;
  const cron = typeof schedule === 'string' ? parseCron(schedule) : undefined;
  const zone = typeof timezone === 'string' && isTimeZone(timezone) ? timezone : 'UTC';
  return {
    interval_ms: of.interval_ms,
    grace_ms:
      typeof grace_s === 'number'
        ? grace_s * 1_000
        : Math.max(leastGraceMs, Math.floor(of.interval_ms / 5)),
    schedule:
      typeof cron === 'object' && typeof schedule === 'string'
        ? { text: schedule, cron, zone }
        : null,
    max_run_ms: typeof max_run_s === 'number' ? max_run_s * 1_000 : null,
  };
};

/**
 * A heartbeat has no address to check. Its target is a note of the user's (which machine, which
 * job) and decides nothing.
 */
export const heartbeatTarget: KindTarget = {
  fault: () => undefined,
  defaultName: () => undefined,
};

/** A new heartbeat token: 144 random bits, as 24 characters that need no escaping in an address. */
export const newPingToken = (): string => randomBytes(18).toString('base64url');

/**
 * The key of a token on the bus and in the database: 64 hex digits of SHA-256. It needs no secret,
 * so a ping receiver far from the coordinator can compute it. The 144 random bits cannot be
 * recovered from it.
 */
export const pingFingerprint = (token: string): string =>
  createHash('sha256').update(token).digest('hex');

/**
 * How long a rotated token still counts by default: users can move jobs to the new address one by
 * one.
 */
export const tokenOverlapMs = 24 * 3_600_000;
