import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Config } from '../assignment.ts';
import {
  type ConfigFault,
  everyKindSchemas,
  type KeySchemas,
  type KindConfig,
  type KindTarget,
} from '../kind-config.ts';
import type { heartbeatKeys } from './keys.ts';
import { type Cron, isTimeZone, parseCron } from './schedule.ts';

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
  // Masked, it stays as it is.
  ping_alias: z.string().regex(/^(?:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|\*{3})$/),
} satisfies KeySchemas<keyof typeof heartbeatKeys>;

export const heartbeatConfig: KindConfig = {
  schemas,
  clashes,
  explained,
  secretPaths: () => [['ping_alias']],
};

/** The exact fault of a cron expression replaces the general remedy. */
function explained(fault: ConfigFault, config: Config): ConfigFault {
  const schedule = config.schedule;
  const reason =
    fault.key === 'schedule' && typeof schedule === 'string' ? parseCron(schedule) : undefined;
  return typeof reason === 'string' ? { ...fault, remedy: reason } : fault;
}

function clashes(config: Config): ConfigFault[] {
  return typeof config.timezone === 'string' && typeof config.schedule !== 'string'
    ? [{ key: 'timezone', remedy: 'needs a `schedule`: an interval is the same in every zone' }]
    : [];
}

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
export function pingSettings(of: {
  readonly interval_ms: number;
  readonly config: Config;
}): PingSettings {
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
}

/**
 * A heartbeat has no address to check. Its target is a note of the user's (which machine, which
 * job) and decides nothing.
 */
export const heartbeatTarget: KindTarget = {
  fault: () => undefined,
  defaultName: () => undefined,
};

/** A new heartbeat token: 144 random bits, as 24 characters that need no escaping in an address. */
export function newPingToken(): string {
  return randomBytes(18).toString('base64url');
}

/**
 * The key of a token on the bus and in the database: 64 hex digits of SHA-256. It needs no secret,
 * so a ping receiver far from the coordinator can compute it. The 144 random bits cannot be
 * recovered from it.
 */
export function pingFingerprint(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** A new ping key of an organisation. Its beginning tells people and scanners what it is. */
export function newPingKey(): string {
  return `pk_${newPingToken()}`;
}

/**
 * The key of a monitor under a ping key: from the ping key's own fingerprint and the monitor's
 * external id, so that a coordinator knows the addresses of a ping key that it does not keep.
 */
export function namedFingerprint(pingKey: string, external_id: string): string {
  return createHash('sha256').update(pingKey, 'hex').update(`/${external_id}`).digest('hex');
}

/** By which ping receivers know that a ping key may create monitors. No external id is empty. */
export function creatingFingerprint(pingKey: string): string {
  return namedFingerprint(pingKey, '');
}

/**
 * How long a rotated token still counts by default: users can move jobs to the new address one by
 * one.
 */
export const tokenOverlapMs = 24 * 3_600_000;
