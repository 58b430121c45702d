import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { partitionCount } from '../../shared/bus/subjects.ts';
import { type SignPatience, type SignsOfWork, whySilent } from '../core/sign-of-life.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import type { Timing } from '../engine/timing.ts';
import type { HealthInput } from './endpoint.ts';
import { endNotice, openNotice } from './notices.ts';

/**
 * The installation's own heartbeat, at an address of the operator's choice: the leader pings it each
 * minute while the installation decides (rule 53), and tries again within the minute. The address
 * is a secret: only its host is logged and shown.
 */
type SignOfLife = { readonly tick: () => Promise<void> };

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
  readonly timing: Timing;
  readonly isLeader: () => boolean;
  readonly health: () => Promise<Pick<HealthInput, 'bus' | 'streams' | 'partitions'>>;
  readonly heardMs: () => number;
  /** Has a partition of the leader commit a round. */
  readonly commit: () => Promise<void>;
  /** Undefined where nobody watches. */
  readonly address: string | undefined;
  /** Undefined when it was accepted, otherwise why not. */
  readonly ping: (url: string) => Promise<string | undefined>;
};

export function createSignOfLife({
  sql,
  clock,
  log,
  timing,
  isLeader,
  health,
  heardMs,
  commit,
  address,
  ping,
}: Dependencies): SignOfLife {
  const { signOfLifeMs: everyMs, refreshMs } = timing;
  const patience: SignPatience = {
    heardMs: timing.lostAfterMs,
    allCommittedMs: 3 * timing.checkpointMs,
    lateMs: everyMs / 2,
  };
  let nextAt = Number.NEGATIVE_INFINITY;
  let committedAt = Number.NEGATIVE_INFINITY;
  let shortest: { readonly ms: number; readonly since: number } | undefined;
  let failing: { readonly since: number; readonly why: string } | undefined;
  /** Why the open notice says that it fails; null until we know whether one is open. */
  let noticed: string | null | undefined = null;

  const expectedFrom = (interval_s: number | null): SignsOfWork['expected'] => {
    const now = performance.now();
    const ms = interval_s === null ? undefined : interval_s * 1_000;
    if (ms !== shortest?.ms) shortest = ms === undefined ? undefined : { ms, since: now };
    return shortest && { interval_ms: shortest.ms, for_ms: now - shortest.since };
  };

  const look = async (): Promise<SignsOfWork | undefined> => {
    await commitRound();
    try {
      const { shortest_s, ...stored } = await storedSigns(sql, clock.now(), patience.lateMs);
      const { bus, streams, partitions } = await health();
      const expected = expectedFrom(shortest_s);
      const committed_ms = performance.now() - committedAt;
      return { ...stored, bus, streams, partitions, heard_ms: heardMs(), committed_ms, expected };
    } catch (error) {
      log.debug({ err: error }, 'could not read whether this installation decides');
      return undefined;
    }
  };

  /** Whatever its monitors do, it shows that the database takes decisions. */
  const commitRound = async (): Promise<void> => {
    if (performance.now() - committedAt <= patience.lateMs) return;
    try {
      await commit();
      committedAt = performance.now();
    } catch (error) {
      log.debug({ err: error }, 'could not commit a round');
    }
  };

  const accepted = async (): Promise<void> => {
    // Ticks come between, so that the next one is not a whole tick late.
    nextAt = performance.now() + everyMs - refreshMs / 2;
    if (failing) log.info('the sign of life of this installation is accepted again');
    failing = undefined;
    await sql`update installation set sign_of_life_at = now()`;
    await endOwn();
  };

  const endOwn = async (): Promise<void> => {
    if (noticed !== undefined) await endNotice(sql, 'no_sign_of_life', 'installation');
    noticed = undefined;
  };

  const failed = async (why: string, host: string): Promise<void> => {
    const now = performance.now();
    if (why !== failing?.why)
      log.warn({ host, why }, 'no sign of life of this installation is accepted');
    failing = { since: failing?.since ?? now, why };
    // While it is only late, nobody needs to act.
    if (now - failing.since < 1.5 * everyMs || noticed === why) return;
    const message = `Whoever watches this installation, at ${host}, gets no ping: ${why}`;
    await openNotice(sql, 'no_sign_of_life', 'installation', message).then(
      () => {
        noticed = why;
      },
      (error: unknown) => log.debug({ err: error }, 'could not open a notice; retrying'),
    );
  };

  return {
    tick: async () => {
      if (!isLeader()) {
        nextAt = Number.NEGATIVE_INFINITY;
        shortest = undefined;
        failing = undefined;
        noticed = null;
        return;
      }
      if (address === undefined) return endOwn();
      if (performance.now() < nextAt) return;
      const why = whySilent(await look(), patience);
      // Whoever leads by now decides anew.
      if (!isLeader()) return;
      const fault = why ?? (await ping(address));
      await (fault === undefined ? accepted() : failed(fault, new URL(address).host));
    },
  };
}

type StoredSigns = Pick<SignsOfWork, 'all_committed_ms' | 'result_ms' | 'alert_ms'> & {
  readonly shortest_s: number | null;
};

/** An alert is claimed for a minute, and tried at once. */
const claimedMs = 60_000;

/**
 * Each partition commits a checkpoint once a minute, whatever its monitors do. Of monitors those
 * count that public probes check.
 */
async function storedSigns(sql: Queryable, now: number, lateMs: number): Promise<StoredSigns> {
  const at = new Date(now);
  const [row] = await sql<StoredSigns[]>`
    select (select case when count(*) = ${partitionCount} then
        extract(epoch from ${at} - min(taken_at))::float8 * 1000 end from checkpoints) as all_committed_ms,
      (select extract(epoch from ${at} - max(changed_at))::float8 * 1000 from watermarks) as result_ms,
      (select min(interval_s) from monitors
        where enabled and type <> 'heartbeat' and config ->> 'probe' is null) as shortest_s,
      (select extract(epoch from ${at} - min(due_at))::float8 * 1000 from (
        select due_at from alerts where state = 'due' and planned_at is null
        union all select look_at from alert_steps where state = 'held'
        union all select next_at from deliveries where kind = 'alert' and state = 'waiting'
          and not exists (select from deliveries where kind = 'alert' and state = 'waiting'
            and claimed_until > ${new Date(now + claimedMs - lateMs)})) a) as alert_ms`;
  if (!row) throw new Error('the database said nothing of its checkpoints');
  return row;
}
