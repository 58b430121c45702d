import { z } from 'zod';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import {
  asWritten,
  isSameShare,
  judge,
  observe,
  type Share,
  shareOf,
  shownBy,
  smallestOf,
  type Trust,
  together,
} from '../core/quarantine.ts';
import type { MonitorState, SeenResult } from '../core/types.ts';
import { isOnlyOne, reachOf } from '../core/views.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { endNotice, openNotice } from '../health/notices.ts';
import type { Directory } from './directory.ts';
import { setQuarantine } from './queries.ts';

/** What coordinators exchange about probes whose failures are refuted (rule 16). */

/** `shares`: by probe. */
type CoordinatorShares = {
  readonly coordinator: string;
  readonly shares: ReadonlyMap<string, Share>;
};

const shareShape = z.object({
  hosts: z.array(z.number()),
  refuted: z.array(z.tuple([z.number(), z.number()])),
});

/** The shares of this coordinator and of every other that is alive and decides. */
async function sharedProbeTrust(
  sql: Queryable,
  owner: string,
  aliveMs: number,
): Promise<CoordinatorShares[]> {
  const rows = await sql<{ coordinator: string; probe: string | null; share: unknown }[]>`
    select c.id as coordinator, r.probe_id as probe, r.share
    from coordinators c left join refutations r on r.coordinator_id = c.id
    where c.id = ${owner} or c.has_bus
      and c.seen_at > now() - ${aliveMs} * interval '1 millisecond'`;
  const told = new Map<string, Map<string, Share>>();
  for (const { coordinator, probe, share } of rows) {
    const shares = told.get(coordinator) ?? new Map<string, Share>();
    told.set(coordinator, shares);
    if (probe === null) continue;
    const { hosts, refuted } = shareShape.parse(share);
    shares.set(probe, { hosts, refuted: new Map(refuted) });
  }
  return [...told].map(([coordinator, shares]) => ({ coordinator, shares }));
}

/** A coordinator that the database has removed shares nothing until it is registered again. */
async function shareProbeTrust(
  sql: Queryable,
  owner: string,
  shares: ReadonlyMap<string, Share>,
): Promise<void> {
  if (shares.size === 0) return;
  const rows = [...shares].map(([probe, { hosts, refuted }]) => ({
    probe,
    share: { hosts, refuted: [...refuted] },
  }));
  await sql`
    insert into refutations (coordinator_id, probe_id, share)
    select c.id, p.id, t.share
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as t (probe uuid, share jsonb)
    join coordinators c on c.id = ${owner}
    join probes p on p.id = t.probe
    on conflict (coordinator_id, probe_id) do update set share = excluded.share`;
}

async function clearProbeTrust(
  sql: Queryable,
  owner: string,
  probes: readonly string[],
): Promise<void> {
  if (probes.length === 0) return;
  await sql`delete from refutations where coordinator_id = ${owner}
    and probe_id = any(${probes}::uuid[])`;
}

/** The state after the result, of the result's monitor; valid during the call only. */
export type ObservedState = {
  /** Tells distinct targets apart. */
  readonly target: () => number;
  readonly state: () => MonitorState | undefined;
  /** The same, but only if the monitor has any problem, which costs nothing to know. */
  readonly unwell: () => MonitorState | undefined;
};

/**
 * Which probes can be trusted (rule 16). Each coordinator judges from the monitors that it decides
 * and from the others' shares. A sick probe is quarantined in the database, from which all learn of
 * it.
 */
type ProbeTrust = {
  readonly observe: (result: SeenResult, of: ObservedState) => void;
  /**
   * Whether a pass of this probe can change its trust: a trusted one with all targets right cannot
   * be trusted more.
   */
  readonly attends: (probe: string) => boolean;
  /** Judges by the others' shares too, and writes which probes fell sick or recovered. */
  readonly settle: () => Promise<void>;
};

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Directory;
  readonly roster: () => Roster;
  readonly owner: string;
  /** Another coordinator that has not reported for this long is not alive. */
  readonly aliveMs: number;
  /** The distinct targets that our partitions know this probe to check. */
  readonly targetsOf: (probe: string) => ReadonlySet<number>;
};

const countAgainMs = 5_000;

export function createProbeTrust({
  sql,
  clock,
  log,
  directory,
  roster,
  owner,
  aliveMs,
  targetsOf,
}: Dependencies): ProbeTrust {
  const trusts = new Map<string, Trust>();
  const counts = new Map<
    string,
    { readonly at: number; readonly targets: number; readonly hosts: readonly number[] }
  >();
  const changed = new Map<string, 'sick' | 'well'>();

  const targetsNow = (probe: string) => {
    const known = counts.get(probe);
    if (known && clock.now() - known.at < countAgainMs) return known;
    const found = targetsOf(probe);
    const counted = { at: clock.now(), targets: found.size, hosts: smallestOf(found) };
    counts.set(probe, counted);
    return counted;
  };
  const pool = createPooledRefutations({
    sql,
    clock,
    owner,
    aliveMs,
    hostsOf: (probe) => targetsNow(probe).hosts,
  });

  const trustOf = (probe: string): Trust => {
    const known = trusts.get(probe);
    // Our own finding is on its way to the database.
    if (known && changed.has(probe)) return known;
    return asWritten(known, directory.byId(probe)?.sick_at ?? null);
  };

  const believe = (probe: string, then: Trust, now: Trust): void => {
    trusts.set(probe, now);
    if ((then.sick_since === null) !== (now.sick_since === null))
      changed.set(probe, now.sick_since === null ? 'well' : 'sick');
  };

  const judgeTogether = async (): Promise<void> => {
    const held = [...trusts.keys()]
      .map((probe) => ({ probe, trust: trustOf(probe) }))
      .filter(({ trust }) => trust.refuted.size > 0);
    const byHost = ({ refuted }: Trust) =>
      new Map([...refuted].map(([target, until]) => [Number(target), until]));
    await pool.exchange(new Map(held.map(({ probe, trust }) => [probe, byHost(trust)])));
    for (const { probe } of held) {
      const [then, known] = [trustOf(probe), pool.of(probe)];
      if (known)
        believe(
          probe,
          then,
          judge(then, clock.now(), { ...known, isOnly: isOnlyOne(probe, roster()) }),
        );
    }
  };

  return {
    observe: (result, { target, state: stateNow, unwell }) => {
      const before = trustOf(result.from.probe);
      // A trusted probe's pass says nothing new if it had the target right before and no probe has
      // it wrong.
      const isNews =
        result.outcome !== 'ok' ||
        before.sick_since !== null ||
        (before.refuted.size > 0 && before.refuted.has(String(target())));
      const state = isNews ? stateNow() : unwell();
      if (!state || state.watched.probe !== null || state.watched.kind === 'heartbeat') return;
      const name = String(target());
      const reach = reachOf(state.watched, roster());
      // A probe whose place is doubted refutes no one either; only the operator ends that.
      const isSick = (probe: string) =>
        trustOf(probe).sick_since !== null || (directory.byId(probe)?.doubted_at ?? null) !== null;
      for (const { probe, shown } of shownBy(result, { state, reach, isSick })) {
        const then = trustOf(probe);
        const observed = {
          targets: targetsNow(probe).targets,
          isOnly: isOnlyOne(probe, roster()),
          isAll: pool.isAlone(),
        };
        believe(probe, then, observe(then, { ...shown, target: name }, observed));
      }
    },
    attends: (probe) => {
      const { sick_since, refuted } = trustOf(probe);
      return sick_since !== null || refuted.size > 0;
    },
    settle: async () => {
      await judgeTogether();
      if (changed.size === 0) return;
      const settling = [...changed];
      for (const [probe, now] of settling) {
        const name = directory.byId(probe)?.name ?? probe;
        const reason = 'A large share of its failures was refuted by other continents';
        log.warn({ probe, name, now }, 'the trust in a probe has changed');
        await setQuarantine(sql, probe, now === 'sick' ? reason : null);
        if (now === 'sick')
          await openNotice(
            sql,
            'probe_quarantined',
            probe,
            `The probe ${name} is quarantined: ${reason.toLowerCase()}`,
          );
        else await endNotice(sql, 'probe_quarantined', probe);
      }
      await directory.refresh();
      for (const [probe, now] of settling) if (changed.get(probe) === now) changed.delete(probe);
    },
  };
}

type PoolDependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly owner: string;
  /** A coordinator that has not reported for this long is not alive. */
  readonly aliveMs: number;
  /** The hosts that we know this probe to check, in the form of a share. */
  readonly hostsOf: (probe: string) => readonly number[];
};

/**
 * Several coordinators judge a probe by what all of them know (rule 16). One that knows of a
 * refuted failure shares it through the database, and the others share what they know of that
 * probe. While nothing is refuted nothing is written.
 */
type PooledRefutations = {
  /** Whether no other coordinator is alive that may know more. */
  readonly isAlone: () => boolean;
  /** Writes our shares and reads the others. `refuted`: what we hold against each probe. */
  readonly exchange: (refuted: ReadonlyMap<string, ReadonlyMap<number, number>>) => Promise<void>;
  /** The merged knowledge of this probe; undefined while some shares are missing. */
  readonly of: (
    probe: string,
  ) => { readonly targets: number; readonly refuted: number } | undefined;
};

/** A coordinator that has shared nothing about a probe by then is not awaited. */
const answerMs = 5_000;

function createPooledRefutations({
  sql,
  clock,
  owner,
  aliveMs,
  hostsOf,
}: PoolDependencies): PooledRefutations {
  let others: readonly CoordinatorShares[] | undefined;
  let own: ReadonlyMap<string, Share> = new Map();
  /**
   * When we first shared each of the probes that we share now, by performance.now() like all
   * waiting times.
   */
  let toldAt = new Map<string, number>();

  return {
    isAlone: () => others?.length === 0,
    exchange: async (refuted) => {
      const all = await sharedProbeTrust(sql, owner, aliveMs);
      const now = clock.now();
      const written =
        all.find(({ coordinator }) => coordinator === owner)?.shares ?? new Map<string, Share>();
      const heard = all.filter(({ coordinator }) => coordinator !== owner);
      const theirs = heard.flatMap(({ shares }) =>
        [...shares].map(([probe, share]) => [probe, share.refuted] as const),
      );
      const doubted = [...refuted, ...theirs].filter(([, existing]) =>
        [...existing.values()].some((until) => until > now),
      );
      const probes = new Set(heard.length === 0 ? [] : doubted.map(([probe]) => probe));
      const told = new Map(
        [...probes].map((probe) => [
          probe,
          shareOf(hostsOf(probe), refuted.get(probe) ?? new Map(), now),
        ]),
      );
      const news = new Map(
        [...told].filter(([probe, share]) => !isSameShare(share, written.get(probe))),
      );
      const over = [...written.keys()].filter((probe) => !told.has(probe));
      await shareProbeTrust(sql, owner, news);
      await clearProbeTrust(sql, owner, over);
      toldAt = new Map([...probes].map((probe) => [probe, toldAt.get(probe) ?? performance.now()]));
      [others, own] = [heard, told];
    },
    of: (probe) => {
      const ours = own.get(probe);
      if (!others || !ours) return undefined;
      const theirs = others.flatMap(({ shares }) => shares.get(probe) ?? []);
      const isWhole =
        theirs.length === others.length ||
        performance.now() - (toldAt.get(probe) ?? performance.now()) > answerMs;
      return isWhole ? together([ours, ...theirs], clock.now()) : undefined;
    },
  };
}
