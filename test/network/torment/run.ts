/**
 * The torment itself: everything that can go wrong goes wrong for a time, at random; then all comes
 * back, and what is stored is compared with what was.
 *
 * Which check finds which of the defects that strangers found (tried by putting each back):
 *
 * | put back | found by |
 * |---|---|
 * | queries that never settle after a reset: a partition stands in silence | `partitions that stood` (reset) |
 * | each redelivery asks everybody anew while the database refuses | `targets that were flooded` (full) |
 * | a `/fail` before a later success is worked on leaves no incident; `resolved_at` by order of handing over | `heartbeats that were misjudged` (full, silence) |
 * | dates computed from the newest failure of each view alone | `dates that no stored check has` (silence) |
 * | a down monitor is up after an edit or a resume | not here, where nobody edits: the simulation (`npm run simulate`, oracle of uptime) |
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connectBus } from '../../../shared/bus/nats.ts';
import {
  partitionConsumer,
  partitionCount,
  pingsConsumer,
  streams,
} from '../../../shared/bus/subjects.ts';
import { createChance } from '../../simulation/story.ts';
import type { Network } from '../../support/network.ts';
import { crookedDates, findStalled, floods, judgePings, type Upheaval } from './checks.ts';
import { allFaults, choose, type Fault, type FaultKind, faultKinds } from './faults.ts';
import {
  balance,
  type Incident,
  judge,
  type Moment,
  outsideOf,
  readExpectedMessages,
  readJudged,
  readMoment,
  readPings,
  type StoredPing,
  type Verdict,
} from './ledger.ts';
import { judgeMessages } from './receivers.ts';
import { holds, isAtRest, linesOf, type Report } from './report.ts';
import {
  continents,
  deadlineMs,
  intervalMs,
  keepLogs,
  poll,
  type Stage,
  setStage,
} from './stage.ts';
import type { Outage, Truth } from './truth.ts';
import { misjudgedWarnings, readWarnings } from './warnings.ts';

type TormentOptions = {
  readonly seed: number;
  /** How long there are faults; starting, settling and comparing come on top. */
  readonly seconds: number;
  readonly coordinators?: number;
  readonly faults?: readonly FaultKind[];
  /** Whether people are told, and what they get is counted. */
  readonly channels?: boolean;
  /** How long everything may take to come to rest at the end. */
  readonly restSeconds?: number;
  readonly say: (line: string) => void;
};

const lookMs = 1_000;
/**
 * Incidents of that age are judged as they are; the results that they hang on are read with them.
 */
const lookedBackMs = 150_000;
const roundsBetweenCalms = 6;
/** Processes start, leases lapse, and whoever was cut off dials again. */
const wholeWithinMs = 60_000;

/**
 * All that there was to say of a place at one moment: what is found of dates is gone when the run
 * is over, and nobody could say why.
 */
const momentOf = (wanted: string, { incidents, rows }: Moment, outages: readonly Outage[]) => ({
  at: Date.now(),
  outages: outages.filter(({ place }) => place === wanted),
  incidents: incidents.filter(({ place }) => place === wanted),
  rows: rows.filter(({ place }) => place === wanted).toSorted((a, b) => a.at - b.at),
});

/** All that there is to say of the jobs at the end. */
const jobsAtEnd = async ({ network, placeOf, jobPlaces }: Stage, pings: readonly StoredPing[]) => ({
  incidents: (await readMoment(network.sql, placeOf)).incidents.filter(({ place }) =>
    jobPlaces.includes(place),
  ),
  judged: await readJudged(network.sql, placeOf),
  pings,
});

/** The same of each place of which the verdict finds something, as it is at the end. */
const verdictAtEnd = async (
  { network, placeOf, truth }: Stage,
  { missed, false_alerts, crooked }: Verdict,
) => {
  const moment = await readMoment(network.sql, placeOf);
  const found = [...missed, ...false_alerts, ...crooked];
  return {
    sick: truth.sick(),
    stalls: truth.stalls(),
    places: Object.fromEntries(
      found.map((text) => [text, momentOf(text.split(' ', 1)[0] ?? '', moment, truth.outages())]),
    ),
  };
};

const isDoubtfulIn =
  ({ isDoubtful }: Truth) =>
  (of: Incident | Outage): boolean =>
    'from' in of
      ? isDoubtful(of)
      : isDoubtful({
          place: of.place,
          from: of.started_at,
          until: of.resolved_at ?? Number.POSITIVE_INFINITY,
        });

/**
 * Looks at the database once a second, for what must be right at every moment and for what is not
 * kept long.
 */
const watchDates = ({ network, truth, placeOf }: Stage) => {
  /** With what was there at that moment, which is gone when the run is over. */
  const found = new Map<string, object>();
  const pings = new Map<string, StoredPing>();
  const lookAtPings = async (): Promise<void> => {
    for (const ping of await readPings(network.sql, placeOf)) pings.set(ping.id, ping);
  };
  let looks = 0;
  let isOver = false;
  const run = async (): Promise<void> => {
    for (; !isOver; await pause(lookMs)) {
      const since = Date.now() - lookedBackMs;
      try {
        const moment = await readMoment(network.sql, placeOf, since);
        const { incidents, rows } = moment;
        const isDoubtful = isDoubtfulIn(truth);
        const isJudged = (one: Incident) => one.started_at > since + 30_000 && !isDoubtful(one);
        const crooked = crookedDates(incidents, truth.outages(), outsideOf(rows), isJudged);
        for (const { place, fault } of crooked)
          if (!found.has(fault)) found.set(fault, momentOf(place, moment, truth.outages()));
        await lookAtPings();
        looks += 1;
      } catch {
        // The database is away, as it should be now and then.
      }
    }
  };
  const running = run();
  return {
    found: () => [...found.keys()],
    /** Each with what was known of its place then, for whoever asks why. */
    moments: () => Object.fromEntries(found),
    looks: () => looks,
    lookAtPings,
    pings: () => [...pings.values()].toSorted((a, b) => a.at - b.at),
    stop: async () => {
      isOver = true;
      await running;
    },
  };
};

/** Asks all along, because who decides late does it by the probes that are there by then. */
const watchRoster = ({ truth, isOneLost }: Stage) => {
  let isOver = false;
  const run = async (): Promise<void> => {
    for (; !isOver; await pause(lookMs / 2)) if (await isOneLost()) truth.lose();
  };
  const running = run();
  return {
    stop: async () => {
      isOver = true;
      await running;
    },
  };
};

const torment = async (stage: Stage, options: TormentOptions, problems: () => number) => {
  const { truth, warned, network, cast, ways, api } = stage;
  const chance = createChance(options.seed);
  const faults = allFaults({
    cast,
    ways,
    api,
    truth,
    continents,
    sql: network.sql,
    chance,
    kinds: options.faults ?? faultKinds,
  });
  const struck: Partial<Record<FaultKind, number>> = {};
  const upheavals: Upheaval[] = [];
  const standing: string[] = [];
  const turning = setInterval(() => {
    truth.turn(Date.now());
    warned.turn(Date.now());
  }, 250);
  const end = Date.now() + 1_000 * options.seconds;
  const strike = async (fault: Fault): Promise<void> => {
    const from = Date.now();
    struck[fault.kind] = (struck[fault.kind] ?? 0) + 1;
    await fault.strike();
    if (fault.movesPartitions) upheavals.push({ from, until: Date.now() });
  };
  const calm = async (): Promise<void> => {
    const isWhole = await poll(stage.areWell, wholeWithinMs);
    const found = isWhole
      ? await findStalled({
          places: truth.places.map(({ place }) => place),
          rowsSince: async (since) => (await readMoment(network.sql, stage.placeOf, since)).rows,
          partitionOf: stage.partitionOf,
          health: stage.health,
        })
      : {
          standing: [
            `not all coordinators are well ${wholeWithinMs / 1_000} s after the last fault: ${await stage.health()}`,
          ],
          tookMs: wholeWithinMs,
        };
    standing.push(...found.standing);
    options.say(
      found.standing.length > 0
        ? `  ${found.standing.join('; ')}`
        : `  calm: all moved within ${(found.tookMs / 1_000).toFixed(1)} s`,
    );
  };
  let rounds = 0;
  for (; Date.now() < end; rounds += 1) {
    const chosen = choose(chance, faults);
    const left = Math.max(0, Math.round((end - Date.now()) / 1_000));
    options.say(
      `round ${rounds + 1}, ${left} s left, ${truth.seen.length} checks seen, ${problems() + standing.length} found: ${chosen.map(({ name }) => name).join(', ')}`,
    );
    await Promise.all(chosen.map(strike));
    await pause(chance.between(500, 4_000));
    if (rounds % roundsBetweenCalms === roundsBetweenCalms - 1) await calm();
  }
  await calm();
  clearInterval(turning);
  return { struck, rounds, standing, upheavals };
};

/** What nobody has taken by now, where something is missing. */
const leftOnBus = async ({ account, log }: Network): Promise<string[]> => {
  const bus = await connectBus({
    url: account.url,
    credentials: account.coordinatorCredentials,
    name: 'torment',
    log,
  });
  const lines: string[] = [];
  for (const stream of [streams.results, streams.pings]) {
    const state = await bus.streamState(stream.name);
    lines.push(`${stream.name}: ${state?.messages} messages are left`);
    for (let partition = 0; partition < partitionCount; partition += 1) {
      const { name } =
        stream === streams.pings ? pingsConsumer(partition) : partitionConsumer(partition);
      const left = await bus.consumerState(stream.name, name);
      if (left && left.pending + left.unacknowledged > 0)
        lines.push(`  ${name}: ${left.pending} pending, ${left.unacknowledged} unacknowledged`);
    }
  }
  await bus.close();
  return lines;
};

type Done = Awaited<ReturnType<typeof torment>>;

const settle = async (
  stage: Stage,
  watch: ReturnType<typeof watchDates>,
  done: Done,
  options: TormentOptions,
): Promise<Report> => {
  const { network, truth, warned, jobs, receivers, kills, saved, placeOf } = stage;
  const { struck, rounds, standing, upheavals } = done;
  const began = performance.now();
  truth.heal();
  jobs.heal();
  receivers?.heal();
  await warned.heal();
  // What is under way then is judged by nobody.
  const until = Date.now();
  const pages = new Set(
    truth.places.flatMap(({ place, type }) => (type === 'https' ? [place] : [])),
  );
  // Who asked for a name, and what judged a job, no target saw.
  const pageOf = (monitor: string): string | undefined => {
    const place = placeOf(monitor);
    return place !== undefined && pages.has(place) ? place : undefined;
  };
  let last: Omit<Report, 'rest_ms'> | undefined;
  const look = async (): Promise<boolean> => {
    const { incidents, rows } = await readMoment(network.sql, placeOf);
    await watch.lookAtPings();
    const stored = watch.pings();
    const ofJob = new Set(stage.jobPlaces);
    const warnings = await readWarnings(network.sql, network.organisation, placeOf);
    last = {
      seed: options.seed,
      rounds,
      struck,
      standing,
      balance: balance({
        seen: truth.seen,
        rows: rows.filter(({ place }) => pages.has(place)),
        saved,
        kills,
        placeOf: pageOf,
        until,
      }),
      verdict: judge(
        incidents.filter(({ place }) => !ofJob.has(place)),
        truth.outages(),
        outsideOf(rows),
        truth.stalls(),
        isDoubtfulIn(truth),
      ),
      pings: judgePings({
        places: stage.jobPlaces,
        taken: jobs.taken,
        stored,
        incidents,
        denied: jobs.denied,
        deadlineMs,
        until,
      }),
      told: receivers
        ? judgeMessages({ ...receivers, ...(await readExpectedMessages(network.sql, placeOf)) })
        : { taken: 0, lost: [], wrong: [] },
      warnings: { stored: warnings.length, wrong: misjudgedWarnings(warnings, warned.periods()) },
      dates: watch.found(),
      floods: floods([...truth.seen, ...truth.asked], upheavals, intervalMs),
      looks: watch.looks(),
      stalls: truth.stalls().length,
    };
    // A silence at the very end is an incident until the next ping.
    return isAtRest(last);
  };
  const isQuiet = await poll(look, 1_000 * (options.restSeconds ?? 180));
  if (!last) throw new Error('the database could not be read at the end');
  if (!isQuiet) for (const line of await leftOnBus(network)) options.say(line);
  return { ...last, rest_ms: isQuiet ? Math.round(performance.now() - began) : null };
};

export const runTorment = async (options: TormentOptions): Promise<Report> => {
  const { seed, say } = options;
  const stage = await setStage(seed, options.coordinators ?? 2, options.channels === true);
  try {
    say(`everything is at work: ${stage.cast.map(({ name }) => name).join(', ')}`);
    const [watch, roster] = [watchDates(stage), watchRoster(stage)];
    const done = await torment(stage, options, () => watch.found().length).finally(() =>
      Promise.all([watch.stop(), roster.stop()]),
    );
    say('everything is up again; waiting until it has come to rest');
    const report = await settle(stage, watch, done, options);
    for (const line of linesOf(report)) say(line);
    if (!holds(report)) {
      const kept = await keepLogs(stage.mortal.folder, seed);
      await writeFile(join(kept, 'dates.json'), JSON.stringify(watch.moments(), null, 1));
      await writeFile(join(kept, 'checks.json'), JSON.stringify(report.balance.moments, null, 1));
      await writeFile(
        join(kept, 'jobs.json'),
        JSON.stringify(await jobsAtEnd(stage, watch.pings()), null, 1),
      );
      await writeFile(
        join(kept, 'verdict.json'),
        JSON.stringify(await verdictAtEnd(stage, report.verdict), null, 1),
      );
      say(`the logs of this run, and what was known of what was wrong, are in ${kept}`);
    }
    return report;
  } finally {
    await stage.close();
  }
};
