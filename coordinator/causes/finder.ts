import { newId } from '../../shared/base/crypto.ts';
import type { Clock } from '../../shared/base/time.ts';
import {
  findCauses,
  keepCauses,
  leastMembers,
  mayShareCause,
  suspectCauses,
} from '../core/causes.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import {
  endMemberships,
  failingMonitors,
  insertCauses,
  insertMembers,
  lockForJudging,
  openCauses,
  organisationsToReview,
  passingMonitors,
} from './queries.ts';
import { failingOf, passingOf } from './shares.ts';

/**
 * Finds the common causes of outages (rules 48 to 51). What it found is in the database. It keeps
 * only whom it asked and when it judged: without that, a cause is found somewhat later.
 */
export type CauseFinder = {
  /**
   * Judges the outages of these organisations that have no cause yet, in the transaction in which
   * they are to be told.
   */
  readonly judge: (transaction: Queryable, organisations: readonly string[]) => Promise<Judgement>;
  /** On the leader: judges again while what passes is heard of, and who leaves or has ended. */
  readonly tick: () => Promise<void>;
};

export type Judgement = {
  /** The outages that may have a common cause, which it tries to find out. */
  readonly suspected: ReadonlySet<string>;
  /** The organisations that another transaction is judging. */
  readonly elsewhere: readonly string[];
};

export const nothingSuspected: Judgement = { suspected: new Set(), elsewhere: [] };

export function createCauseFinder({
  sql,
  clock,
  isLeader,
  ask,
  onReviewed,
}: Dependencies): CauseFinder {
  const asked = new Map<string, number>();
  const resting = new Map<string, number>();
  let reviewed = new Map<string, Reviewed>();

  const judge: CauseFinder['judge'] = async (transaction, organisations) => {
    const now = clock.now();
    forget(asked, now - askedMs);
    forget(resting, now);
    const wanted = organisations.filter((id) => !resting.has(id));
    const ids = await lockForJudging(transaction, wanted);
    const elsewhere = wanted.filter((id) => !ids.includes(id));
    if (ids.length === 0) return { ...nothingSuspected, elsewhere };
    const known = await openCauses(transaction, ids, { withMembers: false });
    const which = { which: 'unexplained', limit: mostJudged } as const;
    const failing = await failingMonitors(transaction, ids, which);
    const each = ids.map((id) => {
      const own = failing
        .filter(({ organisation }) => organisation === id)
        .map((one) => failingOf(one, asked.has(one.monitor)));
      return {
        id,
        ...keepCauses(
          known.filter(({ organisation }) => organisation === id),
          own,
        ),
      };
    });
    const open = each.filter(({ left }) => mayShareCause(left));
    const passing =
      open.length === 0
        ? []
        : await passingMonitors(
            transaction,
            open.map(({ id }) => id),
          );
    const judged = open.map(({ id, left }) => {
      const around = passing
        .filter(({ organisation }) => organisation === id)
        .map((one) => passingOf(one, asked.has(one.monitor), now));
      // What fails by it in another way is told by itself; one that is mostly over may come again.
      const found = findCauses(left, around).filter(
        ({ kind, value }) =>
          !known.some(
            (one) =>
              one.organisation === id && one.grows && one.kind === kind && one.value === value,
          ),
      );
      const members = new Set(found.flatMap(({ members: all }) => all));
      const rest = left.filter(({ incident }) => !members.has(incident));
      return { id, found, ...suspectCauses(rest, around) };
    });
    await insertMembers(
      transaction,
      each.flatMap(({ kept }) =>
        kept.flatMap(({ id: cause, members }) => members.map((incident) => ({ cause, incident }))),
      ),
    );
    const found = judged.flatMap(({ id: organisation, found: all }) =>
      all.map((one) => ({ ...one, id: newId(), organisation })),
    );
    await insertCauses(transaction, found, now);
    const toAsk = judged
      .flatMap((one) => one.toAsk.map(({ monitor }) => monitor))
      .filter((monitor) => now - (asked.get(monitor) ?? Number.NEGATIVE_INFINITY) >= askedAgainMs);
    for (const monitor of toAsk) asked.set(monitor, now);
    if (toAsk.length > 0) ask(toAsk);
    // One with very many outages is not judged all the time.
    const end = clock.now();
    for (const { id } of open)
      if (end - now > longMs) resting.set(id, end + restPart * (end - now));
    return { suspected: new Set(judged.flatMap(({ incidents }) => [...incidents])), elsewhere };
  };

  /** Whether it could: not while another transaction judges the organisation. */
  const review = (organisation: string): Promise<boolean> =>
    inTransaction(sql, async (transaction) => {
      if ((await lockForJudging(transaction, [organisation])).length === 0) return false;
      const known = await openCauses(transaction, [organisation], { withMembers: true });
      if (known.length > 0) {
        const which = { which: 'all', limit: null } as const;
        const failing = await failingMonitors(transaction, [organisation], which);
        const { kept } = keepCauses(
          known,
          failing.map((one) => failingOf(one, false)),
        );
        const still = new Set(kept.flatMap(({ members }) => members));
        const left = known
          .flatMap(({ members }) => members)
          .filter((incident) => !still.has(incident));
        const over = kept.filter(({ members }) => members.length === 0).map(({ id }) => id);
        await endMemberships(transaction, organisation, { left, over }, clock.now());
      }
      await judge(transaction, [organisation]);
      await onReviewed(transaction, [organisation], clock.now());
      return true;
    });

  return {
    judge,
    tick: async () => {
      if (!isLeader()) return;
      const organisations = await organisationsToReview(sql, leastMembers);
      reviewed = new Map(
        organisations.flatMap(({ id }) => {
          const known = reviewed.get(id);
          return known ? [[id, known]] : [];
        }),
      );
      const failures: unknown[] = [];
      for (const { id, standing } of organisations) {
        const [last, now] = [reviewed.get(id), clock.now()];
        const isChanged = last?.standing !== standing;
        const since = isChanged ? now : last.since;
        if (now < (last?.not_before ?? 0)) continue;
        const every = now - since > settledMs ? seldomMs : againMs;
        if (!isChanged && now - last.at < every) continue;
        // One that cannot be judged keeps no other from it.
        const isReviewed = await review(id).catch((error: unknown) => {
          failures.push(error);
          return true;
        });
        const end = clock.now();
        const not_before = end + restPart * (end - now);
        if (isReviewed) reviewed.set(id, { standing, since, at: now, not_before });
      }
      if (failures.length > 0) throw new AggregateError(failures, 'could not review all causes');
    },
  };
}

function forget(times: Map<string, number>, before: number): void {
  for (const [id, at] of times) if (at <= before) times.delete(id);
}

type Reviewed = {
  readonly standing: string;
  readonly since: number;
  readonly at: number;
  readonly not_before: number;
};

/** What passes is heard of by and by: for so long, and so often, it is judged though nothing else changed. */
const settledMs = 600_000;
const againMs = 5_000;
/** A failure may become another one at any time. */
const seldomMs = 60_000;
/** For so long who was asked stands for others, and so soon nobody is asked again. */
const askedMs = 60_000;
const askedAgainMs = 10_000;
/** What takes longer is not done again for ten times as long. */
const longMs = 100;
const restPart = 10;
const mostJudged = 1_000;

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly isLeader: () => boolean;
  /** Has these monitors checked now, wherever they are checked. */
  readonly ask: (monitors: readonly string[]) => void;
  /** Called in the transaction that reviewed the causes of organisations. */
  readonly onReviewed: (
    transaction: Queryable,
    organisations: readonly string[],
    now: number,
  ) => Promise<void>;
};
