import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { hostOf } from './attempts.ts';

/** Calls of a subject that other coordinators do not know yet, and when its window began here. */
type UnsettledCalls = {
  readonly subject: string;
  readonly began_at: number;
  readonly calls: number;
};
/** `coordinators`: how many are counting at this moment. */
type SettledWindow = {
  readonly subject: string;
  readonly began_at: number;
  readonly calls: number;
  readonly coordinators: number;
};

/**
 * Adds calls to the windows that all coordinators share and returns these windows, in one statement
 * for all. A window that is over is replaced; of two that began at nearly the same time, the
 * earlier stays.
 */
async function settleWindows(
  sql: Queryable,
  unsettled: readonly UnsettledCalls[],
  length_ms: number,
): Promise<readonly SettledWindow[]> {
  const rows = unsettled.map(({ subject, began_at, calls }) => ({
    subject,
    began_at: new Date(began_at).toISOString(),
    calls,
  }));
  const over = `${length_ms} milliseconds`;
  const settled = await sql<
    { subject: string; began_at: number; calls: number; coordinators: number }[]
  >`
    insert into rate_windows as w (subject, began_at, calls)
    select u.subject, u.began_at, u.calls
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as u (subject text,
      began_at timestamptz, calls int) order by u.subject
    on conflict (subject) do update set
      began_at = case
        when w.began_at + ${over}::interval <= excluded.began_at then excluded.began_at
          else w.began_at end,
      calls = case when w.began_at + ${over}::interval <= excluded.began_at then excluded.calls
        else w.calls + excluded.calls end
    returning subject, began_at, calls,
      (select count(*) from coordinators
        where seen_at > now() - interval '1 minute')::int as coordinators`;
  return settled;
}

/** Windows that ended a while ago are useless. */
async function forgetWindows(sql: Queryable, endedBefore: number): Promise<void> {
  await sql`delete from rate_windows where began_at < ${new Date(endedBefore)}`;
}

export type Count = {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Whole seconds until the window is over, at least 1. */
  readonly reset: number;
};

/** The subject of a call without a token. */
export function subjectOfAddress(address: string): string {
  return `address:${hostOf(address)}`;
}

export type RateLimiter = {
  /**
   * Counts a call of a subject (a token, an address) and says whether it may pass. It waits only
   * where this coordinator's share is used up.
   */
  readonly count: (subject: string) => Count | Promise<Count>;
  /** A subject's count, without counting a call. */
  readonly look: (subject: string) => Count;
  /** Exchanges counts with the other coordinators; runs by itself. */
  readonly settle: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly perMinute: number;
  /** Milliseconds between settlements: for this long, calls elsewhere may stay unknown here. */
  readonly settleEvery?: number;
  /**
   * How long a call waits for the other coordinators: a database that does not answer stops no one.
   */
  readonly patience?: number;
};

/**
 * `calls` counts the known calls of all coordinators; `unsettled` is the part that the others do
 * not know, `told` the part that is being sent to them now.
 */
type Window = { began_at: number; calls: number; unsettled: number; told: number };

const windowLength = 60_000;
/** The part of a limit by which all coordinators together may exceed it. */
const overshoot = 0.1;
/**
 * Addresses are easy to invent: beyond this many subjects, the oldest windows are dropped first.
 */
const maxSubjects = 200_000;

/**
 * A window of 60 s that begins with the first call. Calls are counted in memory, so that a call
 * costs no write, and settled in batches. A refused call is not counted, so that a window ends
 * however often its subject calls.
 *
 * Each coordinator may pass a share of calls that the others do not know: with n coordinators a
 * tenth of the limit, divided among the n - 1 that may not know yet. When the share is used up, the
 * next call waits for a settlement; when it is half used, a settlement starts. So n coordinators,
 * each called as fast as possible, exceed the limit by a tenth at most; a single one never waits.
 */
export function createRateLimiter({
  sql,
  clock,
  log,
  perMinute,
  settleEvery = 250,
  patience = 1_000,
}: Dependencies): RateLimiter {
  const windows = new Map<string, Window>();
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let settling: Promise<void> | undefined;
  /** Until the first settlement reports their number, there may be another one. */
  let coordinators = 2;
  let sweptAt = clock.now();
  let forgottenAt = sweptAt;
  let troubled = false;

  const isOver = (window: Window, now: number): boolean => window.began_at + windowLength <= now;

  const sweep = (now: number): void => {
    if (now - sweptAt < windowLength && windows.size < maxSubjects) return;
    sweptAt = now;
    for (const [subject, window] of windows) if (isOver(window, now)) windows.delete(subject);
    // Windows are in the order in which they began, so the first are the oldest.
    for (const subject of windows.keys()) {
      if (windows.size < maxSubjects) break;
      windows.delete(subject);
    }
  };

  const windowOf = (subject: string, now: number): Window => {
    const known = windows.get(subject);
    if (known && !isOver(known, now)) return known;
    sweep(now);
    const fresh = { began_at: now, calls: 0, unsettled: 0, told: 0 };
    windows.delete(subject);
    windows.set(subject, fresh);
    return fresh;
  };

  const settleOnce = async (): Promise<void> => {
    const batch = [...changed].flatMap((subject) => {
      const window = windows.get(subject);
      return window && window.unsettled > 0
        ? [{ subject, window, began_at: window.began_at, calls: window.unsettled }]
        : [];
    });
    changed.clear();
    if (batch.length === 0) return;
    for (const { window, calls } of batch) {
      window.unsettled -= calls;
      window.told = calls;
    }
    try {
      const settled = new Map(
        (await settleWindows(sql, batch, windowLength)).map((one) => [one.subject, one]),
      );
      for (const { subject, window } of batch) {
        const existing = settled.get(subject);
        coordinators = existing?.coordinators ?? coordinators;
        if (!existing) continue;
        window.began_at = existing.began_at;
        // Calls that arrived while the database answered are not in its number yet.
        window.calls = existing.calls + window.unsettled;
      }
      if (clock.now() - forgottenAt >= windowLength) {
        forgottenAt = clock.now();
        await forgetWindows(sql, forgottenAt - 2 * windowLength);
      }
      troubled = false;
    } catch (error) {
      for (const { subject, window, calls } of batch) {
        window.unsettled += calls;
        changed.add(subject);
      }
      if (!troubled)
        log.warn(
          { err: error },
          'could not share call counts between coordinators; each counts alone meanwhile',
        );
      troubled = true;
    }
    for (const { window } of batch) window.told = 0;
  };

  const settle = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    settling ??= settleOnce().finally(() => {
      settling = undefined;
      if (changed.size > 0) wake();
    });
    await settling;
  };

  const wake = (): void => {
    timer ??= setTimeout(() => void settle(), settleEvery).unref();
  };

  const share = (): number =>
    coordinators <= 1 || troubled
      ? perMinute
      : Math.max(1, Math.floor((perMinute * overshoot) / (coordinators - 1)));

  const resetOf = (window: Pick<Window, 'began_at'>, now: number): number =>
    Math.max(1, Math.ceil((window.began_at + windowLength - now) / 1000));

  const look = (subject: string): Count => {
    const now = clock.now();
    const known = windows.get(subject);
    const window = known && !isOver(known, now) ? known : { began_at: now, calls: 0 };
    const remaining = Math.max(0, perMinute - window.calls);
    return { allowed: remaining > 0, remaining, reset: resetOf(window, now) };
  };

  /**
   * Undefined: the share is used up. `beyond`: the share may be exceeded, because the others cannot
   * be reached.
   */
  const countNow = (subject: string, beyond = false): Count | undefined => {
    const now = clock.now();
    const window = windowOf(subject, now);
    const reset = resetOf(window, now);
    if (window.calls >= perMinute) return { allowed: false, remaining: 0, reset };
    if (!beyond && window.unsettled + window.told >= share()) return undefined;
    window.calls += 1;
    window.unsettled += 1;
    changed.add(subject);
    if (coordinators > 1 && !troubled && window.unsettled * 2 >= share()) void settle();
    else wake();
    return { allowed: true, remaining: perMinute - window.calls, reset };
  };

  const countLater = async (subject: string): Promise<Count> => {
    for (;;) {
      const isSettled = await inTime(settle(), patience);
      const counted = countNow(subject, !isSettled);
      if (counted) return counted;
    }
  };

  return {
    count: (subject) => countNow(subject) ?? countLater(subject),
    look,
    settle,
    close: async () => {
      await settle();
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

async function inTime(settling: Promise<void>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  const isSettled = await Promise.race([settling.then(() => true), late.promise]);
  clearTimeout(timer);
  return isSettled;
}
