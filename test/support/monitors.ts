import { expect } from 'vitest';
import type { Sql } from '../../coordinator/database/connect.ts';
import { insertPingTokens } from '../../coordinator/monitors/queries.ts';
import { outcomeNumbers } from '../../coordinator/results/check.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { bucketOf, readEnvelope } from '../../shared/bus/envelope.ts';
import { type AssignmentMessage, assignmentMessage, jsonOf } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import {
  bucketSubject,
  isDelta,
  partitionOf,
  streams,
  subjects,
} from '../../shared/bus/subjects.ts';
import {
  type Config,
  createDigest,
  type Digest,
  type Element,
} from '../../shared/checks/assignment.ts';
import { newPingToken, pingFingerprint } from '../../shared/checks/heartbeat/config.ts';
import { eventually, passed } from './eventually.ts';
import { type CoordinatorProcess, isWell, type Network, type Wanted } from './network.ts';
import { areWhole } from './services.ts';
import { storedChecks } from './stored-checks.ts';
import { broken, fine, type Target } from './targets.ts';

/**
 * For test files: what the database holds of a monitor's incidents, alerts and results, as tests
 * ask for it.
 */

export type SeenIncident = {
  readonly id: string;
  readonly started_at: number;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  readonly seen_probe: string | null;
  readonly seen_continent: string | null;
  readonly confirmed_continent: string | null;
  readonly note: string | null;
  readonly scope: string | null;
};

/** Of a monitor, oldest first. */
export const incidentsOf = (sql: Sql, monitor: string): Promise<SeenIncident[]> =>
  sql<SeenIncident[]>`
    select id, started_at, confirmed_at, resolved_at, seen_probe, seen_continent, confirmed_continent, note, scope
    from incidents where monitor_id = ${monitor} order by key`;

/** The first incident of the monitor that fits, as soon as there is one. */
export const incidentThat = (
  sql: Sql,
  monitor: string,
  fits: (incident: SeenIncident) => boolean,
  withinMs = 30_000,
): Promise<SeenIncident> =>
  eventually(async () => (await incidentsOf(sql, monitor)).find(fits), withinMs);

export const isConfirmed = ({ confirmed_at, resolved_at }: SeenIncident): boolean =>
  confirmed_at !== null && resolved_at === null;
export const isResolved = ({ resolved_at }: SeenIncident): boolean => resolved_at !== null;

export const alertsOf = (sql: Sql, monitor: string): Promise<{ event: string; state: string }[]> =>
  sql<
    { event: string; state: string }[]
  >`select event, state from alerts where monitor_id = ${monitor} order by id`;

/**
 * Settles when the "down" of the monitor's incident has gone out: what ends before that is told to
 * nobody, neither its beginning nor its end (rule 25).
 */
export const downIsSent = async (sql: Sql, monitor: string): Promise<void> => {
  await eventually(async () =>
    (await alertsOf(sql, monitor)).some(({ event, state }) => event === 'down' && state === 'due'),
  );
};

export type StoredResult = {
  readonly continent: string;
  readonly at: number;
  readonly outcome: number;
};

export const resultsOf = async (sql: Sql, monitor: string): Promise<StoredResult[]> =>
  (await storedChecks(sql, { monitor })).map(({ continent, at, outcome }) => ({
    continent,
    at,
    outcome: outcomeNumbers[outcome],
  }));

/** Settles when each of so many continents has seen the monitor well. */
export const seenFrom = async (sql: Sql, monitor: string, continents: number): Promise<void> => {
  await eventually(async () => {
    const results = await resultsOf(sql, monitor);
    return (
      new Set(results.filter(({ outcome }) => outcome === 0).map(({ continent }) => continent))
        .size >= continents
    );
  }, 45_000);
};

/** A target and a monitor of it, once so many continents have seen it well. */
export const watch = async (
  network: Pick<Network, 'sql' | 'startTarget' | 'addMonitor'>,
  continents = 2,
  more: Partial<Wanted> = {},
): Promise<{ readonly target: Target; readonly monitor: string }> => {
  const target = await network.startTarget();
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1, ...more });
  await seenFrom(network.sql, monitor, continents);
  return { target, monitor };
};

/** For test files: heartbeat monitors with their addresses, and calls of them. */

export type Heartbeat = { readonly monitor: string; readonly token: string; readonly key: string };

export const addToken = async (network: Network, monitor: string): Promise<Heartbeat> => {
  const token = newPingToken();
  const key = pingFingerprint(token);
  const { organisation } = network;
  await network.sql.begin((tx) =>
    insertPingTokens(tx, organisation, [{ fingerprint: key, monitor, box: Buffer.from(token) }]),
  );
  return { monitor, token, key };
};

export const addHeartbeat = async (
  network: Network,
  config: Config = {},
  interval_s = 2,
): Promise<Heartbeat> => {
  const monitor = await network.addMonitor({
    type: 'heartbeat',
    target: '',
    interval_s,
    config: { grace_s: 0, ...config },
  });
  return addToken(network, monitor);
};

/** Keys that the ping receivers are still to be told of, without those of monitors' own addresses. */
export const announcedKeys = (of: { readonly sql: Sql }, organisation: () => string) => {
  const tokens = new Set<string>();
  return async (): Promise<string[]> => {
    const own = await of.sql<{ key: string }[]>`
      select encode(fingerprint, 'hex') as key from beat_tokens`;
    for (const { key } of own) tokens.add(key);
    const rows = await of.sql<{ key: string }[]>`
      update outbox set done_at = now() where topic = 'ping_key' and done_at is null
        and organisation_id = ${organisation()} returning payload ->> 'key' as key`;
    return rows
      .map(({ key }) => key)
      .filter((key) => !tokens.has(key))
      .toSorted();
  };
};

type Answer = { readonly status: number; readonly text: string };

export const call = async (
  address: string,
  path: string,
  init: RequestInit = {},
): Promise<Answer> => {
  const answer = await fetch(`${address}/beat/${path}`, init);
  return { status: answer.status, text: await answer.text() };
};

/** Calls until the address knows the token: it was made a moment ago. */
export const ping = async (
  address: string,
  { token }: Pick<Heartbeat, 'token'>,
  more = '',
  init: RequestInit = {},
): Promise<Answer> =>
  eventually(async () => {
    const answer = await call(address, `${token}${more}`, init);
    return answer.status === 200 ? answer : undefined;
  });

/**
 * Pings on while something takes its time, however long that is; stop() settles with how many were
 * taken.
 */
export const keepTicking = (
  address: string,
  { token }: Pick<Heartbeat, 'token'>,
): { readonly stop: () => Promise<number> } => {
  let isStopped = false;
  const run = async (): Promise<number> => {
    let taken = 0;
    for (; !isStopped; await passed(500)) {
      // A job goes on when nobody takes its ping: whoever takes it ends and begins anew in these
      // tests.
      const answer = await call(address, token).catch(() => undefined);
      if (answer?.status === 200) taken += 1;
    }
    return taken;
  };
  const running = run();
  return {
    stop: () => {
      isStopped = true;
      return running;
    },
  };
};

export type StoredPing = {
  readonly kind: string;
  readonly at: number;
  readonly exit_code: number | null;
  readonly rid: string | null;
  readonly run_ms: number | null;
  readonly body: string;
  readonly ear: string;
  readonly method: string;
};

const pingsOf = (sql: Sql, monitor: string): Promise<StoredPing[]> =>
  sql<
    StoredPing[]
  >`select kind, at, exit_code, rid, run_ms, body, ear, method from beats where monitor_id = ${monitor} order by at, id`;

/** Settles when so many pings of the monitor are written down. */
export const pingsWritten = (sql: Sql, monitor: string, count: number): Promise<StoredPing[]> =>
  eventually(async () => {
    const pings = await pingsOf(sql, monitor);
    return pings.length >= count ? pings : undefined;
  });

/**
 * For the tests of clusters: an outage that is made while something is away, and whether in the end
 * anything was lost, doubled or false.
 */

export type Watched = {
  readonly target: Target;
  readonly monitor: string;
  /** Never fails. */
  readonly well: Target;
  readonly steady: string;
  /** From each outage's beginning to where the database has it confirmed. */
  readonly delays: { readonly what: string; readonly ms: number }[];
};

const isEverConfirmed = ({ confirmed_at }: { readonly confirmed_at: number | null }): boolean =>
  confirmed_at !== null;

export const startWatched = async (network: Network, continents: number): Promise<Watched> => {
  const well = await watch(network, continents);
  return {
    ...(await watch(network, continents)),
    ...{ well: well.target, steady: well.monitor, delays: [] },
  };
};

/** Whether each of them says so of itself. */
export const areAllWell = async (coordinators: readonly CoordinatorProcess[]): Promise<boolean> =>
  (await Promise.all(coordinators.map(({ url }) => isWell(url)))).every(Boolean);

/**
 * Settles when no stream lacks any of its three servers: a second one may be taken away only then.
 */
export const untilWhole = async ({ account }: Network): Promise<void> =>
  void (await eventually(() => areWhole(account), 120_000, 250));

/** What the service promises while one part is away. */
const maxMs = 30_000;

/**
 * `fault` happens in the moment in which the target breaks; the outage is confirmed within 30 s and
 * over when the target is well again.
 */
export const outageDuring = async (
  network: Network,
  watched: Watched,
  what: string,
  fault: () => Promise<unknown>,
): Promise<void> => {
  const { target, monitor, delays } = watched;
  const confirmed = async () =>
    (await incidentsOf(network.sql, monitor)).filter(isEverConfirmed).length;
  const before = await confirmed();
  const begin = performance.now();
  target.answer(broken);
  const [, isSeen] = await Promise.all([
    fault(),
    eventually(async () => (await confirmed()) > before, maxMs),
  ]);
  delays.push({ what, ms: Math.round(performance.now() - begin) });
  expect(isSeen).toBe(true);
  target.answer(fine);
  await eventually(async () => (await incidentsOf(network.sql, monitor)).every(isResolved), 60_000);
};

/**
 * One confirmed outage for each that was made, told once; none of what was well; every check that
 * came to a target is stored, once.
 */
export const nothingLostDoubledOrFalse = async (
  network: Network,
  { target, monitor, well, steady, delays }: Watched,
): Promise<void> => {
  const { sql } = network;
  expect((await incidentsOf(sql, monitor)).filter(isEverConfirmed)).toHaveLength(delays.length);
  expect(
    (await alertsOf(sql, monitor)).filter(({ event }) => event === 'down').length,
  ).toBeLessThanOrEqual(delays.length);
  expect(await incidentsOf(sql, steady)).toEqual([]);
  expect(await alertsOf(sql, steady)).toEqual([]);
  for (const [id, { hits }] of [
    [monitor, target],
    [steady, well],
  ] as const) {
    const seen = hits.filter(({ at }) => at < Date.now() - 2_000).length;
    await eventually(async () => (await resultsOf(sql, id)).length >= seen, 60_000);
    const rows = await resultsOf(sql, id);
    expect(new Set(rows.map(({ continent, at }) => `${continent} ${Number(at)}`)).size).toBe(
      rows.length,
    );
    // A check that was held up may have said so before it came to the target.
    expect(rows.filter(({ outcome }) => outcome !== 2).length).toBeLessThanOrEqual(hits.length);
  }
  // What was not handed over yet when it was missed fills its gap when it is.
  const gaps = () => sql<
    { began_at: number; ended_at: number | null }[]
  >`select began_at, ended_at from ledger where monitor_id = ${steady} and kind = 'unknown'
    and began_at > (select created_at + interval '30 seconds' from monitors where id = ${steady})`;
  await eventually(async () => (await gaps()).every(({ ended_at }) => ended_at !== null), 60_000);
  // With the checks that came meanwhile: a gap in which there were some is false, one without is a
  // standstill of whoever checks.
  const told = (await gaps()).map(({ began_at, ended_at }) => ({
    began_at,
    ended_at,
    hits: well.hits
      .filter(({ at }) => at > Number(began_at) && at < Number(ended_at))
      .map(({ at }) => at - Number(began_at)),
  }));
  expect(told).toEqual([]);
  const lines = delays
    .map(({ what, ms }) => `  ${what}: confirmed after ${(ms / 1_000).toFixed(1)} s\n`)
    .join('');
  process.stdout.write(
    `${target.hits.length + well.hits.length} checks, all stored once\n${lines}`,
  );
};

/** The digest of a set as it is now, made in one go. */
export const digestOf = (elements: Iterable<Element>): Digest => {
  const digest = createDigest();
  for (const element of elements) digest.add(element);
  return digest;
};

/** Where a change of one monitor goes. */
export const deltaOf = (
  place: string,
  { monitor, ordinal }: Pick<AssignmentMessage, 'monitor' | 'ordinal'>,
): string =>
  subjects.inBucket(place, {
    partition: partitionOf(monitor),
    bucket: bucketOf(ordinal),
    item: monitor,
  });

/** What the bus last says of a monitor to the probes of a place; null: that it is not to be checked. */
export const publishedFor = async (
  bus: Pick<Bus, 'last' | 'subjectsOf'>,
  place: Continent,
  monitor: string,
): Promise<AssignmentMessage | null | undefined> => {
  const stream = streams.assignments.name;
  const own = { partition: partitionOf(monitor), bucket: '*', item: '*' } as const;
  const found: { readonly seq: number; readonly says: AssignmentMessage | null }[] = [];
  const silent: { readonly seq: number; readonly from: number; readonly until: number }[] = [];
  for (const subject of await bus.subjectsOf(stream, subjects.inBucket(place, own))) {
    const last = await bus.last(stream, subject);
    if (!last) continue;
    const { seq, data } = last;
    const within = bucketSubject(subject);
    if (within && !isDelta(within.item)) {
      const { assignments, from, until } = readEnvelope(within.bucket, data);
      const one = assignments.find((each) => each.monitor === monitor);
      if (one) found.push({ seq, says: assignmentMessage.parse({ v: 1, ...one }) });
      else silent.push({ seq, from, until });
    } else if (subject.endsWith(monitor)) {
      const says = data.length === 0 ? null : assignmentMessage.parse(jsonOf(data));
      found.push({ seq, says });
    }
  }
  const newest = found.toSorted((a, b) => b.seq - a.seq)[0];
  if (!newest) return silent.length > 0 ? null : undefined;
  const { seq, says } = newest;
  const isOver = silent.some(
    (part) => says && part.seq > seq && says.ordinal >= part.from && says.ordinal < part.until,
  );
  return isOver ? null : says;
};

/** The subject of a monitor's delta there, whatever its bucket. */
export const deltaSubject = (place: Continent, monitor: string): string =>
  subjects.inBucket(place, { partition: '*', bucket: '*', item: monitor });

/** A target of another host, by which the probes show that they are well (rule 46). */
export const checkAnotherHost = async (
  network: Pick<Network, 'startTarget' | 'addMonitor' | 'sql'>,
  places: number,
): Promise<void> => {
  const target = await network.startTarget({ host: '127.0.0.2' });
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  await seenFrom(network.sql, monitor, places);
};
