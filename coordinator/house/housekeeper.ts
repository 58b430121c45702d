import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { keptForMs, mostKeptOfOrganisation } from '../domain/kept-answer.ts';
import { forgetAudit } from '../store/store-audit.ts';
import { markSeen } from '../store/store-dashboard.ts';
import type { Sql } from '../store/store-database.ts';
import { doAlone } from '../store/store-database-locks.ts';
import { forgetEvents } from '../store/store-events.ts';
import { forgetEnded } from '../store/store-forget-expired.ts';
import { forgetTold } from '../store/store-forget-told.ts';
import { freezeSamples } from '../store/store-incident-samples.ts';
import { forgetKeptAnswers, lightenKeptAnswers } from '../store/store-kept-answers.ts';
import { forgetCoordinators } from '../store/store-leases.ts';
import { forgetMails } from '../store/store-mails.ts';
import { expandWindows } from '../store/store-maintenance.ts';
import { forgetDone } from '../store/store-outbox.ts';
import { areBeingRead, dropResultDays, forgetMonitors, forgetOld, hourOf, makeResultDays, rollUpOneHour } from '../store/store-results.ts';
import { inTransaction } from '../store/store-sql-transactions.ts';
import { forgetWatermarks } from '../store/store-watermarks.ts';
import { createFarewells } from './house-organisation-endings.ts';
import { type MonitorSecrets, sealOpenSecrets } from './house-seal-open-secrets.ts';

/** Keeps the database in shape: days made ahead and dropped, hours rolled up, deleted monitors forgotten in small bites. */
export type Housekeeper = {
  readonly tick: () => Promise<void>;
  /** Makes what must be there before the first result comes. */
  readonly prepare: () => Promise<void>;
};

export type Kept = { readonly rawDays: number; readonly rollupDays: number; readonly ledgerDays: number };

const day = 86_400_000;
/** Results of an hour that has just ended may still be on their way; later ones have it made anew. */
const settledMs = 120_000;
const bite = 10_000;
/** So many monitors have their secrets encrypted in one transaction. */
const atOnce = 100;
/** So long a mail that went out, or never will, can be looked up. */
const mailDays = 30;
/** So long it can be told why somebody was told (rule 40). */
const toldDays = 400;
/** So long it can be told who changed what. */
const auditDays = 400;
const forgetEveryMs = 3_600_000;
const eventDays = 90;
/** What many kept answers may exceed their bound by is what comes in this time. */
const lightenEveryMs = 300_000;
/** So long a tick works at most, so that it never holds up its end. */
const mostMs = 20_000;

/** Results that started before this are not kept any more, and so not taken any more. */
export const oldestKept = (kept: Kept, now: number): number => Math.floor(now / day) * day - kept.rawDays * day;

export const createHousekeeper = ({
  sql,
  clock,
  log,
  kept,
  isLeader,
  secrets,
  mostAnswerBytes = mostKeptOfOrganisation,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly kept: Kept;
  /** One of all coordinators deletes what is over; the others would only search for the same. */
  readonly isLeader: () => boolean;
  readonly secrets: MonitorSecrets;
  /** What the kept answers of one organisation may come to. */
  readonly mostAnswerBytes?: number;
}): Housekeeper => {
  let forgottenAt = Number.NEGATIVE_INFINITY;
  let lightenedAt = Number.NEGATIVE_INFINITY;
  const farewells = createFarewells({ sql, clock, log });

  const prepare = async (): Promise<void> => {
    const now = clock.now();
    await inTransaction(sql, async (transaction) => {
      await doAlone(transaction, 'resultDays');
      await makeResultDays(transaction, oldestKept(kept, now), now + 3 * day);
    });
  };

  const dropDays = async (now: number): Promise<void> => {
    const dropped = await inTransaction(sql, async (transaction) => {
      await doAlone(transaction, 'resultDays');
      return dropResultDays(transaction, oldestKept(kept, now));
    });
    if (dropped.length > 0) log.info({ days: dropped }, 'old days of results dropped');
  };

  const forget = async (now: number): Promise<void> => {
    await forgetOld(sql, now - kept.rollupDays * day, now - kept.ledgerDays * day);
    await forgetWatermarks(sql);
    await forgetDone(sql);
    await forgetEnded(sql, now);
    await forgetAudit(sql, new Date(now - auditDays * day));
    await forgetCoordinators(sql);
  };

  const repeat = async (until: number, step: () => Promise<boolean>): Promise<void> => {
    while (performance.now() < until && (await step()));
  };

  return {
    prepare,
    tick: async () => {
      const now = clock.now();
      const until = performance.now() + mostMs;
      await prepare();
      await expandWindows(sql, now);
      await repeat(until, async () => (await inTransaction(sql, (transaction) => sealOpenSecrets(transaction, secrets, atOnce))) > 0);
      await repeat(until, () => inTransaction(sql, (transaction) => rollUpOneHour(transaction, hourOf(now - settledMs))));
      await markSeen(sql);
      const keptFrom = oldestKept(kept, now) + 2 * day;
      await repeat(until, () =>
        inTransaction(sql, (transaction) => freezeSamples(transaction, { endedBefore: now - settledMs, keptFrom })),
      );
      await dropDays(now).catch((error: unknown) => {
        if (!areBeingRead(error)) throw error;
        log.info({ err: error }, 'old days of results cannot be dropped while somebody reads results, as a backup does; it is tried again');
      });
      if (isLeader() && now - forgottenAt >= forgetEveryMs) {
        await forget(now);
        await repeat(until, () => forgetMails(sql, new Date(now - mailDays * day), bite));
        const before = { told: new Date(now - toldDays * day), tests: new Date(now - forgetEveryMs) };
        await repeat(until, () => forgetTold(sql, before, bite));
        await repeat(until, () => forgetKeptAnswers(sql, new Date(now - keptForMs), bite));
        await repeat(until, () => forgetEvents(sql, new Date(now - eventDays * day), bite));
        forgottenAt = now;
      }
      if (isLeader() && now - lightenedAt >= lightenEveryMs) {
        await repeat(until, () => lightenKeptAnswers(sql, mostAnswerBytes, bite));
        lightenedAt = now;
      }
      if (isLeader()) await farewells.tick(() => performance.now() < until);
      await repeat(until, () => inTransaction(sql, (transaction) => forgetMonitors(transaction, bite)));
    },
  };
};
