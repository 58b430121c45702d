/** The torment itself: kills everything at random for a time, lets it all come back, and compares the ledgers. */
import { copyFile, mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql } from '../../../coordinator/store/database.ts';
import { type Chance, createChance } from '../../simulation/chance.ts';
import { startMortalServices } from '../../support/mortal-services.ts';
import { createNetwork, type Network } from '../../support/network.ts';
import { freePort } from '../../support/services.ts';
import { coordinatorVictim, probeVictim, type Saved, serverVictim, type Victim } from './cast.ts';
import { type Balance, balance, type Kill, type Row } from './ledger.ts';
import { createTruth, type Truth } from './truth.ts';
import { judge, readIncidents, type Verdict } from './verdict.ts';

export type TormentOptions = {
  readonly seed: number;
  /** How long things are killed; starting, settling and comparing come on top. */
  readonly seconds: number;
  readonly coordinators?: number;
  /** How long everything may take to come to rest at the end. */
  readonly restSeconds?: number;
  readonly say: (line: string) => void;
};

export type Report = {
  readonly seed: number;
  readonly rounds: number;
  readonly kills: Readonly<Record<Victim['kind'], number>>;
  readonly freezes: number;
  /** From the last start of anything to equal ledgers; null when they never became equal. */
  readonly rest_ms: number | null;
  readonly balance: Balance;
  readonly verdict: Verdict;
  /** How often the machine had no turn for the targets for a second and more; incidents that begin then are not false. */
  readonly stalls: number;
};

const places = ['Europe', 'Asia', 'North America'] as const;
/** Longer than a lease lasts, so that partitions move. */
const frozenMs = 7_500;

const readRows = async (sql: Sql, placeOf: (monitor: string) => string | undefined): Promise<Row[]> => {
  const rows = await sql<{ probe: string; monitor: string; at: number; took_ms: number }[]>`
    select p.name as probe, m.id as monitor, (extract(epoch from r.at) * 1000)::float8 as at, r.took_ms
    from results r join probes p on p.key = r.probe_key join monitors m on m.key = r.monitor_key`;
  return rows.flatMap(({ probe, monitor, at, took_ms }) => {
    const place = placeOf(monitor);
    return place === undefined ? [] : [{ probe, place, at: Math.round(at), took_ms }];
  });
};

const poll = async (isSo: () => Promise<boolean>, withinMs: number): Promise<boolean> => {
  for (const end = performance.now() + withinMs; performance.now() < end; await pause(500))
    if (await isSo().catch(() => false)) return true;
  return false;
};

/** Who dies in this round: mostly one, sometimes two or three, sometimes all. */
const choose = (chance: Chance, cast: readonly Victim[]): readonly Victim[] => {
  const share = chance.next();
  if (share < 0.1) return cast;
  const count = share < 0.6 ? 1 : share < 0.85 ? 2 : 3;
  return chance.some(cast, count, count);
};

const isEven = ({ lost, doubled, invented }: Balance): boolean => lost.length + doubled.length + invented.length === 0;

const isTrue = ({ missed, false_alerts, crooked }: Verdict): boolean => missed.length + false_alerts.length + crooked.length === 0;

export const holds = ({ rest_ms, balance: ledger, verdict }: Report): boolean => rest_ms !== null && isEven(ledger) && isTrue(verdict);

type Stage = {
  readonly network: Network;
  readonly truth: Truth;
  readonly cast: readonly Victim[];
  readonly kills: Kill[];
  readonly saved: Saved[];
};

const torment = async ({ truth, cast }: Stage, options: TormentOptions, chance: Chance) => {
  const kills = { coordinator: 0, probe: 0, bus: 0, database: 0 };
  let freezes = 0;
  let rounds = 0;
  const turning = setInterval(() => truth.turn(Date.now()), 250);
  const end = Date.now() + 1_000 * options.seconds;
  const suffer = async (victim: Victim): Promise<void> => {
    const isFrozen = victim.freeze && victim.kind === 'coordinator' && chance.happens(0.25);
    const deadMs = chance.between(100, 4_000);
    if (victim.freeze && isFrozen) {
      freezes += 1;
      victim.freeze(true);
      await pause(frozenMs);
      victim.freeze(false);
      return;
    }
    kills[victim.kind] += 1;
    await victim.kill();
    await pause(deadMs);
    await victim.start();
  };
  for (; Date.now() < end; rounds += 1) {
    const chosen = choose(chance, cast);
    const calmMs = chance.between(500, 4_000);
    options.say(
      `round ${rounds + 1}, ${Math.max(0, Math.round((end - Date.now()) / 1_000))} s left, ${truth.seen.length} checks seen: ${chosen.map(({ name }) => name).join(', ')}`,
    );
    await Promise.all(chosen.map(suffer));
    await pause(calmMs);
  }
  clearInterval(turning);
  return { kills, freezes, rounds };
};

const settle = async (
  { network, truth, kills, saved }: Stage,
  placeOf: (monitor: string) => string | undefined,
  options: TormentOptions,
) => {
  const began = performance.now();
  const until = Date.now();
  truth.heal();
  let ledger: Balance | undefined;
  let verdict: Verdict | undefined;
  const isAtRest = async (): Promise<boolean> => {
    const rows = await readRows(network.sql, placeOf);
    ledger = balance({ seen: truth.seen, rows, saved, kills, placeOf, until });
    verdict = judge(await readIncidents(network.sql, placeOf), truth.outages(), truth.seen, truth.stalls());
    return isEven(ledger) && isTrue(verdict);
  };
  const isQuiet = await poll(isAtRest, 1_000 * (options.restSeconds ?? 120));
  if (!ledger || !verdict) throw new Error('the database could not be read at the end');
  return { rest_ms: isQuiet ? Math.round(performance.now() - began) : null, balance: ledger, verdict, stalls: truth.stalls().length };
};

/** Logs outlive the run only if there is something to find in them. */
const keepLogs = async (folder: string, seed: number): Promise<string> => {
  const kept = await mkdtemp(join(tmpdir(), `antipode-torment-${seed}-`));
  for (const name of await readdir(folder)) if (name.endsWith('.log')) await copyFile(join(folder, name), join(kept, name));
  return kept;
};

export const runTorment = async (options: TormentOptions): Promise<Report> => {
  const { seed, say } = options;
  // Two sources, so that who dies when does not hang on what fails when.
  const chance = createChance(seed);
  const mortal = await startMortalServices();
  const ends: (() => Promise<unknown>)[] = [mortal.stop];
  try {
    const network = await createNetwork({ services: mortal.services });
    ends.push(network.close);
    const truth = await createTruth(createChance(seed + 1), places, 5);
    ends.push(truth.close);
    const [kills, saved]: [Kill[], Saved[]] = [[], []];
    const onKilled = (probe: string, at: number, held: readonly Saved[]) => {
      kills.push({ probe, at });
      saved.push(...held);
    };
    const folder = mortal.folder;
    const cast: Victim[] = [serverVictim('nats-server', 'bus', mortal.nats), serverVictim('Postgres', 'database', mortal.postgres)];
    for (let index = 1; index <= (options.coordinators ?? 2); index += 1)
      cast.push(coordinatorVictim(`coordinator-${index}`, { environment: network.environment, port: await freePort(), folder }));
    for (const continent of places)
      cast.push(probeVictim(await network.makeProbe(continent, continent.replace(' ', '-')), { folder, onKilled }));
    const byMonitor = new Map<string, string>();
    for (const { place, url } of truth.places)
      byMonitor.set(await network.addMonitor({ target: url, interval_s: 3, config: { timeout_ms: 2_900 } }), place);
    const placeOf = (monitor: string) => byMonitor.get(monitor);
    const processes = cast.filter(({ kind }) => kind === 'coordinator' || kind === 'probe');
    for (const { stop } of processes) ends.push(stop);
    for (const { start } of processes) await start();
    const wanted = truth.places.length * places.length;
    const everybody = async () =>
      new Set((await readRows(network.sql, placeOf)).map(({ probe, place }) => `${probe} ${place}`)).size === wanted;
    if (!(await poll(everybody, 60_000))) throw new Error(`the network did not come to work; its logs are in ${join(folder, '*.log')}`);
    say(`everything is at work: ${cast.map(({ name }) => name).join(', ')}`);
    const stage: Stage = { network, truth, cast, kills, saved };
    const done = await torment(stage, options, chance);
    say('everything is up again; waiting until it has come to rest');
    const report = { seed, ...done, ...(await settle(stage, placeOf, options)) };
    if (!holds(report)) say(`the logs of this run are in ${await keepLogs(folder, seed)}`);
    return report;
  } finally {
    for (const end of ends.toReversed()) await end();
  }
};
