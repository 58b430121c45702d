/** For the tests of clusters: an outage that is made while something is away, and whether in the end anything was lost, doubled or false. */
import { expect } from 'vitest';
import { type CoordinatorProcess, isWell } from './coordinator-process.ts';
import { eventually } from './eventually.ts';
import { alertsOf, incidentsOf, isResolved, resultsOf, seenFrom } from './incidents.ts';
import { areWhole } from './kept-streams.ts';
import type { Network } from './network.ts';
import { broken, fine, type Target } from './targets.ts';

export type Watched = {
  readonly target: Target;
  readonly monitor: string;
  /** Never fails. */
  readonly well: Target;
  readonly steady: string;
  /** From each outage's beginning to where the database has it confirmed. */
  readonly delays: { readonly what: string; readonly ms: number }[];
};

const isEverConfirmed = ({ confirmed_at }: { readonly confirmed_at: Date | null }): boolean => confirmed_at !== null;

export const startWatched = async (network: Network, continents: number): Promise<Watched> => {
  const [target, well] = [await network.startTarget(), await network.startTarget()];
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  const steady = await network.addMonitor({ target: well.url(), interval_s: 1 });
  for (const each of [monitor, steady]) await seenFrom(network.sql, each, continents);
  return { target, monitor, well, steady, delays: [] };
};

/** Whether each of them says so of itself. */
export const areAllWell = async (coordinators: readonly CoordinatorProcess[]): Promise<boolean> =>
  (await Promise.all(coordinators.map(({ url }) => isWell(url)))).every(Boolean);

/** Settles when no stream lacks any of its three servers: a second one may be taken away only then. */
export const untilWhole = async ({ account }: Network): Promise<void> => void (await eventually(() => areWhole(account), 120_000, 250));

/** What the service promises while one part is away. */
const maxMs = 30_000;

/** `fault` happens in the moment in which the target breaks; the outage is confirmed within 30 s and over when the target is well again. */
export const outageDuring = async (network: Network, watched: Watched, what: string, fault: () => Promise<unknown>): Promise<void> => {
  const { target, monitor, delays } = watched;
  const confirmed = async () => (await incidentsOf(network.sql, monitor)).filter(isEverConfirmed).length;
  const before = await confirmed();
  const begin = performance.now();
  target.answer(broken);
  const [, isSeen] = await Promise.all([fault(), eventually(async () => (await confirmed()) > before, maxMs)]);
  delays.push({ what, ms: Math.round(performance.now() - begin) });
  expect(isSeen).toBe(true);
  target.answer(fine);
  await eventually(async () => (await incidentsOf(network.sql, monitor)).every(isResolved), 60_000);
};

/** One confirmed outage for each that was made, told once; none of what was well; every check that came to a target is stored, once. */
export const nothingLostDoubledOrFalse = async (network: Network, { target, monitor, well, steady, delays }: Watched): Promise<void> => {
  const { sql } = network;
  expect((await incidentsOf(sql, monitor)).filter(isEverConfirmed)).toHaveLength(delays.length);
  expect((await alertsOf(sql, monitor)).filter(({ event }) => event === 'down').length).toBeLessThanOrEqual(delays.length);
  expect(await incidentsOf(sql, steady)).toEqual([]);
  expect(await alertsOf(sql, steady)).toEqual([]);
  for (const [id, { hits }] of [
    [monitor, target],
    [steady, well],
  ] as const) {
    const seen = hits.filter(({ at }) => at < Date.now() - 2_000).length;
    await eventually(async () => (await resultsOf(sql, id)).length >= seen, 60_000);
    const rows = await resultsOf(sql, id);
    expect(new Set(rows.map(({ continent, at }) => `${continent} ${Number(at)}`)).size).toBe(rows.length);
    // A check that was held up may have said so before it came to the target.
    expect(rows.filter(({ outcome }) => outcome !== 2).length).toBeLessThanOrEqual(hits.length);
  }
  // What was not handed over yet when it was missed fills its gap when it is.
  const gaps = () => sql<
    { began_at: Date; ended_at: Date | null }[]
  >`select began_at, ended_at from ledger where monitor_id = ${steady} and kind = 'unknown'
    and began_at > (select created_at + interval '30 seconds' from monitors where id = ${steady})`;
  await eventually(async () => (await gaps()).every(({ ended_at }) => ended_at !== null), 60_000);
  // With the checks that came meanwhile: a gap in which there were some is false, one without is a standstill of whoever checks.
  const told = (await gaps()).map(({ began_at, ended_at }) => ({
    ...{ began_at, ended_at },
    hits: well.hits.filter(({ at }) => at > Number(began_at) && at < Number(ended_at)).map(({ at }) => at - Number(began_at)),
  }));
  expect(told).toEqual([]);
  const lines = delays.map(({ what, ms }) => `  ${what}: confirmed after ${(ms / 1_000).toFixed(1)} s\n`).join('');
  process.stdout.write(`${target.hits.length + well.hits.length} checks, all stored once\n${lines}`);
};
