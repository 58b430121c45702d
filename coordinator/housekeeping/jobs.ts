import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { forgetEndedRecords } from '../assistants/queries.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { forgetDone } from '../database/outbox.ts';
import { inTransaction, takeAdvisoryLock } from '../database/sql.ts';
import { forgetSettled } from '../deliveries/sending.ts';
import { forgetCoordinators, forgetWatermarks } from '../engine/queries.ts';
import { forgetEvents } from '../events/queries.ts';
import {
  deleteIdempotencyRecords,
  idempotencyKeptMs,
  maxRecordsOfOrganisation,
  shrinkIdempotencyRecords,
} from '../gate/idempotency.ts';
import { leastCheckDays, planNames, plans } from '../gate/plans.ts';
import { forgetImports } from '../imports/queries.ts';
import { freezeSamples } from '../incidents/sample-queries.ts';
import { expandWindows } from '../maintenance/queries.ts';
import { markSeen } from '../monitors/status-queries.ts';
import { purgeOld, trashDays } from '../monitors/trash-queries.ts';
import { createOrganisationEndings } from '../offboarding/deletion.ts';
import { forgetAudit } from '../organisations/queries.ts';
import { idleMs, oldestMs } from '../people/sessions.ts';
import { forgetRegistrations } from '../registrations/queries.ts';
import { forgetDays, makeDays } from '../results/days.ts';
import { dropJournalHours, makeJournalHours } from '../results/journal.ts';
import { makeMonths } from '../results/months.ts';
import type { Results } from '../results/reading.ts';
import {
  areBeingRead,
  dropResultDays,
  forgetMonitors,
  makeResultDays,
  type PlanEnd,
  pruneChecks,
} from '../results/retention.ts';
import { forgetExpiredShares } from '../shares/links.ts';

const day = 86_400_000;

/** Deletes expired access: it is of no use to anyone. */
export async function forgetEnded(sql: Queryable, now: number): Promise<void> {
  const at = new Date(now);
  await sql`delete from sessions where last_used_at <= ${new Date(now - idleMs)}
    or created_at <= ${new Date(now - oldestMs)}`;
  await sql`delete from one_time_secrets where expires_at <= ${at}`;
  await forgetExpiredShares(sql, now);
  await sql`delete from invitations where expires_at <= ${at}`;
  await forgetEndedRecords(sql, now, { consentMs: day / 12, clientMs: 7 * day });
  await sql`delete from attempts where began_at <= ${new Date(now - day)}`;
}

/**
 * Notifications and their steps (rule 40) are deleted after their time, except those of open
 * incidents, whose end is still to be notified.
 *
 * Deletes one batch of each table, the oldest first, each found by an index; returns whether there
 * may be more.
 */
async function deleteSentAlerts(
  sql: Queryable,
  { told, tests }: { readonly told: number; readonly tests: number },
  limit: number,
): Promise<boolean> {
  const steps = await sql`delete from alert_steps where id in (
    select t.id from alert_steps t where t.created_at < ${new Date(told)} and t.state <> 'held'
      and ${isOver(sql)} order by t.created_at limit ${limit})`;
  const areMore = await forgetSettled(sql, 'alert', told, limit);
  const deleted = [
    steps,
    await sql`delete from alerts where id in (
      select t.id from alerts t where t.created_at < ${new Date(told)} and t.state <> 'held'
        and ${isOver(sql)} order by t.created_at limit ${limit})`,
    // Their alerts and steps go with them.
    await sql`delete from warnings
      where id in (select id from warnings where ended_at < ${new Date(told)} order by ended_at
        limit ${limit})`,
    await sql`delete from last_resorts where incident_id in (
      select t.incident_id from last_resorts t where t.at < ${new Date(told)} and ${isOver(sql)} order by t.at
      limit ${limit})`,
    await sql`delete from mutes
      where id in (select id from mutes where until < ${new Date(told)} order by until limit ${limit})`,
    await sql`delete from trials
      where ctid = any(array(select ctid from trials where at < ${new Date(tests)} order by at
        limit ${limit}))`,
    await sql`delete from channels where id in (
      select c.id from channels c where c.deleted_at < ${new Date(told)}
        and not exists (select 1 from deliveries m where m.channel_id = c.id)
        and not exists (select 1 from alert_steps s where s.channel_id = c.id) order by c.deleted_at
        limit ${limit})`,
  ];
  return areMore || deleted.some(({ count }) => count === limit);
}

function isOver(sql: Queryable) {
  return sql`t.incident_id is not null and not exists (select 1 from incidents i where i.id = t.incident_id and i.resolved_at is null)`;
}

/**
 * Keeps the database in shape: creates and drops days, makes the rows of days, deletes the history of
 * deleted monitors.
 */
type Housekeeper = {
  readonly tick: () => Promise<void>;
  /** Creates what the first result needs. */
  readonly prepare: () => Promise<void>;
};

export type RetentionDays = {
  readonly rawDays: number;
  readonly rollupDays: number;
  readonly ledgerDays: number;
};
/** Results of an hour that has just ended may still be on their way. */
const settledMs = 120_000;
const batchSize = 10_000;
/** How many days of monitors are summarized in one transaction: their chunks are some megabytes. */
const daysAtOnce = 100;
/** How many monitors leave the trash in one transaction. */
const atOnce = 100;
/**
 * Monitors without a verdict are rarely many; after a large import a tick looks at this many only.
 */
const [unseenAtOnce, maxUnseenBatches] = [1_000, 10];
/** How many monitors lose the checks that their plan keeps no longer in one transaction. */
const prunedAtOnce = 500;
/** How long it can be looked up what was sent, or never will be; alerts are kept for longer. */
const deliveryDays = { mail: 30, event: 14, update: 14 } as const;
const registrationDays = 30;
/** How long the reason of a notification can be looked up (rule 40). */
const sentDays = 400;
/** How long the audit log is kept. */
const auditDays = 400;
const forgetEveryMs = 3_600_000;
const eventDays = 90;
/** Idempotency records may exceed their limit by what arrives in this time. */
const lightenEveryMs = 300_000;
/** How long a tick works at most, so that it never delays a shutdown. */
const maxMs = 20_000;
/**
 * Longer than a tick may take, which makes them each minute. Every session plans with all of them,
 * and a new database waits for them.
 */
const journalAheadMs = 8 * 3_600_000;

/** Results that started before this are kept for nobody. */
export function oldestKept(kept: RetentionDays, now: number): number {
  return daysBefore(now, kept.rawDays);
}

function daysBefore(now: number, days: number): number {
  return Math.floor(now / day) * day - days * day;
}

/**
 * Results that started before this are no longer accepted: some plan may keep nothing else of their
 * day, and the figures of a day are made of all its checks.
 */
export function oldestAccepted(kept: RetentionDays, now: number): number {
  return daysBefore(now, Math.min(kept.rawDays, leastCheckDays));
}

export function createHousekeeper({
  sql,
  clock,
  log,
  kept,
  isLeader,
  results,
  mostAnswerBytes = maxRecordsOfOrganisation,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly kept: RetentionDays;
  /** One coordinator deletes what is over; the others would only search for the same. */
  readonly isLeader: () => boolean;
  readonly results: Results;
  /** The limit of one organisation's idempotency records. */
  readonly mostAnswerBytes?: number;
}): Housekeeper {
  let forgottenAt = Number.NEGATIVE_INFINITY;
  let lightenedAt = Number.NEGATIVE_INFINITY;
  /** The key up to which monitors without a verdict were looked at. */
  let unseenAfter = 0;
  /** The day whose walk through all monitors is over, and how far that of today is. */
  let pruned = { day: Number.NEGATIVE_INFINITY, after: 0 };
  const endings = createOrganisationEndings({ sql, clock, log });

  const prepare = async (): Promise<void> => {
    const now = clock.now();
    await inTransaction(sql, async (transaction) => {
      await takeAdvisoryLock(transaction, 'resultDays');
      await makeResultDays(transaction, oldestKept(kept, now), now + 3 * day);
      await makeJournalHours(transaction, now, now + journalAheadMs);
    });
  };

  const dropDays = async (now: number): Promise<void> => {
    const dropped = await inTransaction(sql, async (transaction) => {
      await takeAdvisoryLock(transaction, 'resultDays');
      return [
        ...(await dropResultDays(transaction, oldestKept(kept, now))),
        ...(await dropJournalHours(transaction)),
      ];
    });
    if (dropped.length > 0)
      log.info({ tables: dropped }, 'dropped old days of results, and hours that are in chunks');
  };

  const forget = async (now: number): Promise<void> => {
    await sql`delete from ledger where ended_at < ${new Date(now - kept.ledgerDays * day)}`;
    await forgetDays(sql, now - kept.rollupDays * day);
    await forgetWatermarks(sql);
    await forgetDone(sql);
    await forgetEnded(sql, now);
    await forgetAudit(sql, now - auditDays * day);
    await forgetCoordinators(sql);
    await forgetImports(sql, now - day);
  };

  /** One step of the day's walk; false when it is over. */
  const prune = async (now: number): Promise<boolean> => {
    const ends = planEnds(kept, now);
    const today = daysBefore(now, 0);
    if (ends.length === 0 || pruned.day === today) return false;
    const last = await inTransaction(sql, (transaction) =>
      pruneChecks(transaction, ends, pruned.after, prunedAtOnce),
    );
    pruned = last === null ? { day: today, after: 0 } : { ...pruned, after: last };
    return last !== null;
  };

  const repeat = async (until: number, step: () => Promise<boolean>): Promise<void> => {
    while (performance.now() < until && (await step()));
  };

  return {
    prepare,
    tick: async () => {
      const now = clock.now();
      const until = performance.now() + maxMs;
      await prepare();
      await expandWindows(sql, now);
      await repeat(until, () =>
        inTransaction(sql, (transaction) =>
          makeDays(transaction, { now, batchSize: daysAtOnce, log }),
        ),
      );
      for (let left = maxUnseenBatches; left > 0; left -= 1) {
        const last = await markSeen(sql, results, unseenAfter, unseenAtOnce);
        unseenAfter = last ?? 0;
        if (last === null) break;
      }
      const keptFrom = oldestAccepted(kept, now) + 2 * day;
      await repeat(until, () =>
        inTransaction(sql, (transaction) =>
          freezeSamples(transaction, results, { endedBefore: now - settledMs, keptFrom }),
        ),
      );
      await dropDays(now).catch((error: unknown) => {
        if (!areBeingRead(error)) throw error;
        log.info(
          { err: error },
          'could not drop old days of results while something reads them, such as a backup; retrying',
        );
      });
      if (isLeader() && now - forgottenAt >= forgetEveryMs) {
        await forget(now);
        for (const kind of ['mail', 'event', 'update'] as const) {
          const before = now - deliveryDays[kind] * day;
          await repeat(until, () => forgetSettled(sql, kind, before, batchSize));
        }
        const before = {
          told: now - sentDays * day,
          tests: now - forgetEveryMs,
        };
        await repeat(until, () => deleteSentAlerts(sql, before, batchSize));
        await repeat(until, () =>
          deleteIdempotencyRecords(sql, now - idempotencyKeptMs, batchSize),
        );
        await forgetRegistrations(sql, now - registrationDays * day);
        await repeat(until, () => forgetEvents(sql, now - eventDays * day, batchSize));
        forgottenAt = now;
      }
      if (isLeader() && now - lightenedAt >= lightenEveryMs) {
        await repeat(until, () => shrinkIdempotencyRecords(sql, mostAnswerBytes, batchSize));
        lightenedAt = now;
      }
      if (isLeader()) {
        await repeat(until, () => prune(now));
        await repeat(until, async () => (await purgeOld(sql, now - trashDays * day, atOnce)) > 0);
        await endings.tick(() => performance.now() < until);
      }
      await repeat(until, () => inTransaction(sql, forgetMonitors));
      await repeat(until, () =>
        inTransaction(sql, (transaction) =>
          makeMonths(transaction, { now, batchSize: daysAtOnce, results }),
        ),
      );
    },
  };
}

/** Plans that keep checks for a shorter time than the installation. */
function planEnds(kept: RetentionDays, now: number): readonly PlanEnd[] {
  return planNames
    .filter((plan) => plans[plan].check_days < kept.rawDays)
    .map((plan) => ({ plan, before: daysBefore(now, plans[plan].check_days) }));
}
