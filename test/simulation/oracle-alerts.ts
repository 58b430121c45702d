import type { Incident } from '../../coordinator/core/types.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Database, Record } from './database.ts';
import { type Known, newest, newestByContinent } from './oracle-known.ts';
import type { Round } from './round.ts';
import type { Happening, ProbeSpec, Story } from './story.ts';
import type { Truth } from './truth.ts';

/** What people outside got, by rules 4, 25 and 28. */

/** What passes between the decision that an alert is due and its arrival. */
const onItsWay = 2_000;

const checksPerDay = 86_400_000;
/** What is known late is known by then, whatever was away for how long. */
const tellingLate = 60 * 60_000;

export const faultsOfAlerts = (
  story: Story,
  truth: Truth,
  record: Record,
  database: Database,
): string[] => {
  const faults: string[] = [];
  const settledBy = story.end - 60_000;
  for (const { incident: id, event, channel, at, confirmed_at } of record.delivered) {
    const row = database.incidents.get(id);
    const name = `incident ${id}, ${event} to ${channel}`;
    if (!row) {
      faults.push(`${name}: there is no such incident`);
      continue;
    }
    const { monitor, incident } = row;
    const after = story.monitors[monitor]?.alert_after_ms ?? 0;
    if (event !== 'down') {
      if (incident.resolved_at === null) faults.push(`${name}: the incident has not ended`);
      const took = record.delivered.some(
        (each) =>
          each.incident === id &&
          each.event === 'down' &&
          each.channel === channel &&
          each.at <= at,
      );
      if (event !== 'was_down' && !took) faults.push(`${name}: this channel never got the "down"`);
      if (event === 'was_down' && took) faults.push(`${name}: this channel got the "down"`);
      if (
        event === 'was_down' &&
        (incident.confirmed_at ?? at) + after >= (incident.resolved_at ?? 0)
      )
        faults.push(`${name}: told late, and it was over before it was due`);
      if (event === 'was_down' && at - (incident.resolved_at ?? at) > checksPerDay)
        faults.push(`${name}: told more than a day late`);
      continue;
    }
    if (confirmed_at === null || incident.confirmed_at === null)
      faults.push(`${name}: the incident was never confirmed`);
    else if (at < confirmed_at + after)
      faults.push(`${name}: sent ${confirmed_at + after - at} ms before it was due`);
    if (truth.isCovered(monitor, at) && truth.isCovered(monitor, at - onItsWay))
      faults.push(`${name}: sent inside cover`);
    if (incident.resolved_at === null || incident.resolved_at > settledBy) continue;
    const ended = record.delivered.some(
      (each) => each.incident === id && each.event !== 'down' && each.channel === channel,
    );
    if (!ended) faults.push(`${name}: nobody told this channel of the end`);
  }
  for (const [id, { incident, monitor }] of database.incidents) {
    const { confirmed_at, resolved_at, note } = incident;
    const after = story.monitors[monitor]?.alert_after_ms ?? 0;
    const isDue =
      confirmed_at !== null &&
      resolved_at !== null &&
      note === null &&
      resolved_at < settledBy - tellingLate &&
      confirmed_at + after < resolved_at &&
      !truth.isCovered(monitor, resolved_at) &&
      !truth.isCovered(monitor, resolved_at - onItsWay);
    for (const channel of isDue ? (story.monitors[monitor]?.channels ?? []) : [])
      if (!record.delivered.some((each) => each.incident === id && each.channel === channel))
        faults.push(`incident ${id}: over since ${resolved_at}, and ${channel} never heard of it`);
  }
  for (const [id, { rows, monitor }] of database.alerts) {
    const incident = database.incidents.get(id)?.incident;
    for (const channel of story.monitors[monitor]?.channels ?? []) {
      const got = record.delivered.filter(
        (each) => each.incident === id && each.channel === channel,
      );
      if (got.filter(({ event }) => event === 'down').length > 1)
        faults.push(`incident ${id}: two downs to ${channel}`);
      if (got.filter(({ event }) => event !== 'down').length > 1)
        faults.push(`incident ${id}: two ends to ${channel}`);
      const waits = rows.some(
        (row) => row.channel === channel && (row.state === 'held' || row.state === 'due'),
      );
      if (waits && incident?.resolved_at != null && incident.resolved_at < settledBy)
        faults.push(`incident ${id}: over, and an alert to ${channel} still waits`);
    }
  }
  return faults;
};

/** Results wait so long at most until all have handed over, and a little until they are decided. */
const handover = 35_000;
const farFelt: readonly Happening['is'][] = [
  'rough bus',
  'probe sick',
  'probe skewed',
  'probe cut off',
  'probe dead',
  'continent cut off',
];

/**
 * Rule 4: a "down" must not go out when all that probes have seen for long says that it is over.
 */
export const faultsOfPast = (
  { probes, monitors, happenings }: Story,
  truth: Truth,
  record: Record,
  database: Database,
): string[] => {
  const all = [...new Set(probes.map(({ continent }) => continent))];
  return record.delivered.flatMap(({ incident: id, event, at }) => {
    const row = database.incidents.get(id);
    const spec = row && monitors[row.monitor];
    if (
      event !== 'down' ||
      !row ||
      !spec ||
      // Nobody can know what probes see while the bus is away.
      truth.isBusAway(at) ||
      happenings.some(
        (each) => farFelt.includes(each.is) && each.at < at && each.until + 75 * 60_000 > at,
      )
    )
      return [];
    const places = all.filter(
      (place) => spec.continents === null || spec.continents.includes(place),
    );
    const made = record.made[row.monitor] ?? [];
    const over = places.every((place) => {
      const known = made.filter(
        ({ continent, started }) =>
          continent === place && started < at - handover - spec.timeout_ms,
      );
      // One pass of the only continent ends nothing (rule 14), and nobody could ask for the second.
      const last = known.slice(places.length === 1 ? -2 : -1);
      return (
        last.length > 0 &&
        last.every(({ outcome, started }) => outcome === 'ok' && started > row.incident.started_at)
      );
    });
    const isDown = places.some((place) => truth.isDown(row.monitor, place, at));
    return over && !isDown
      ? [`incident ${id}: a "down" went out at ${at} for what was long over`]
      : [];
  });
};

/** When a "down" must go out: when it is due, or at the end of the cover that holds it. */
export const dueAt = (truth: Truth, monitor: number, due: number): number => {
  let time = due;
  for (let step = 0; step < 100 && truth.isCovered(monitor, time); step += 1) {
    time = Math.max(
      ...truth
        .covers(monitor)
        .filter(({ from, to }) => from <= time && time < to)
        .map(({ to }) => to),
    );
  }
  return time;
};

/** Rule 16: nobody believes a quarantined probe again before 20 clean shadow checks. */
const cleanRun = 20;

type QuarantineOracle = { readonly onCommit: (round: Round) => string[] };

export const createQuarantineOracle = (database: Database): QuarantineOracle => {
  const passes = new Map<number, number>();
  return {
    onCommit: ({ results }) => {
      for (const { made } of results)
        if (made.quarantined && made.outcome === 'ok')
          passes.set(made.probe, (passes.get(made.probe) ?? 0) + 1);
      for (const probe of database.quarantined.keys()) if (!passes.has(probe)) passes.set(probe, 0);
      const back = [...passes].filter(([probe]) => !database.quarantined.has(probe));
      for (const [probe] of back) passes.delete(probe);
      return back.flatMap(([probe, count]) =>
        count < cleanRun ? [`probe ${probe} is believed again after ${count} clean checks`] : [],
      );
    },
  };
};

/**
 * Whoever sees so large a share of its targets fail alone is quarantined, also if nobody else is
 * there to see for its continent.
 */
const fewestTargets = 3;
const largeShare = 0.5;
/** What is told later tells of a time that others have left behind. */
const live = 5_000;
/** What an ordinary decision may take. */
const soon = 10_000;

type Believed = {
  readonly story: Story;
  readonly database: Database;
  readonly known: readonly Known[];
  /** Continents that can check the monitor. */
  readonly ableOf: (monitor: number) => readonly Continent[];
  /** Since when this coordinator has been at work: what was refuted before, it need not know. */
  readonly since: number;
  readonly now: number;
};

/**
 * Whether the newest that this probe saw of it lately was a failure, and all others passed right
 * after it.
 */
const isRefuted = (of: Believed, probe: ProbeSpec, monitor: number): boolean => {
  const about = of.known[monitor];
  const able = of.ableOf(monitor);
  if (!about || about.isPaused || !able.includes(probe.continent)) return false;
  const last = newest(about.decided, (made) => made.probe === probe.index);
  if (last?.outcome !== 'fail' || last.decided_at === null) return false;
  const isOld = last.at < of.now - 2 * able.length * (of.story.monitors[monitor]?.interval_ms ?? 0);
  const isJudged =
    last.decided_at >= of.since &&
    last.decided_at < of.now - soon &&
    last.decided_at - last.at < live;
  const others = able.filter((place) => place !== probe.continent);
  const passes = newestByContinent(about.decided, others).filter(
    ({ outcome, at }) => outcome === 'ok' && at >= last.at,
  );
  return isJudged && !isOld && others.length > 0 && passes.length === others.length;
};

/** Rule 16: those who are believed although others refute what they see of many targets. */
export const faultsOfBelief = (of: Believed): string[] => {
  const targets = of.story.monitors.length;
  return of.story.probes.flatMap((probe) => {
    if (of.database.quarantined.has(probe.index)) return [];
    const refuted = of.story.monitors.filter(({ index }) => isRefuted(of, probe, index)).length;
    const isLarge = refuted >= fewestTargets && refuted >= targets * largeShare;
    return isLarge
      ? [
          `probe ${probe.index} is believed at ${of.now}, although others refute ${refuted} of ${targets} targets`,
        ]
      : [];
  });
};

/** Rule 9: a question that a restart cut off is asked again by whoever goes on. */

type Cut = { readonly incident: string; readonly monitor: number; readonly at: number };

/**
 * An unconfirmed incident, what is known of its monitor, and when anybody else was last asked.
 * `turn_ms`: how long a turn of its continent takes.
 */
export type Verifying = {
  readonly incident: Incident;
  readonly monitor: number;
  readonly known: Known;
  readonly askedAt: number;
  readonly turn_ms: number;
  /** Whether there is another continent to ask. */
  readonly areOthers: boolean;
};

type QuestionsOracle = {
  /** A coordinator begins. */
  readonly onStart: (now: number, open: readonly Verifying[]) => void;
  /** All has worked for long enough since. */
  readonly settled: (open: readonly Verifying[]) => string[];
};

const isAnswered = ({ incident, known }: Verifying): boolean =>
  newest(
    known.decided,
    ({ continent, at }) => continent !== incident.seen?.continent && at >= incident.started_at,
  ) !== undefined;

/**
 * Whether its continent has seen it so lately that others can tell whether they see the same: the
 * past asks nobody.
 */
const isOfNow = ({ incident, known, turn_ms }: Verifying, now: number): boolean => {
  const last = newest(known.decided, ({ continent }) => continent === incident.seen?.continent);
  return last?.outcome === 'fail' && now - last.at <= turn_ms;
};

export const createQuestionsOracle = (): QuestionsOracle => {
  let cut: readonly Cut[] = [];
  return {
    onStart: (now, open) => {
      const isCutOff = (each: Verifying) =>
        each.areOthers &&
        each.askedAt >= each.incident.started_at &&
        !isAnswered(each) &&
        isOfNow(each, now);
      cut = open
        .filter(isCutOff)
        .map(({ incident, monitor }) => ({ incident: incident.id, monitor, at: now }));
    },
    settled: (open) => {
      const left = cut.flatMap(({ incident, monitor, at }) => {
        const found = open.find((each) => each.incident.id === incident);
        const isLeft = found?.areOthers && found.askedAt < at && !isAnswered(found);
        return isLeft
          ? [
              `monitor ${monitor}, incident ${incident}: a restart at ${at} cut off its question, which nobody asked again`,
            ]
          : [];
      });
      cut = [];
      return left;
    },
  };
};
