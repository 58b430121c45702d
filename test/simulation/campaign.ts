import { causeFault } from './cause-mix.ts';
import { fleetFault, makeFleetStory } from './fleet.ts';
import { jobDays, makeHeartbeatStory } from './heartbeat-story.ts';
import { heartbeatFault } from './heartbeat-world.ts';
import { makeStory } from './make-story.ts';
import { makeNotificationStory, notificationFault } from './notification-story.ts';
import { makePlacesStory, placesFault } from './places-story.ts';
import { type Happening, monitorDays, type Story, smallestThatFails } from './story.ts';
import { makeWarningStory, warningFault } from './warning-story.ts';
import { type Lived, live } from './world.ts';

/**
 * Many stories, one after the other, from consecutive seeds, until enough time has been lived or
 * one ends badly.
 */
export type Tells =
  | 'network'
  | 'job'
  | 'warning'
  | 'places'
  | 'fleet'
  | 'notification'
  | 'cause'
  | 'all';

export type Sum = {
  stories: number;
  monitorDays: number;
  checks: number;
  messages: number;
  restarts: number;
  fenced: number;
  happenings: number;
  incidents: number;
  confirmed: number;
  alerts: number;
  pings: number;
  failed: {
    readonly seed: number;
    readonly violation: string;
    readonly of: Exclude<Tells, 'all'>;
  } | null;
};

const add = (sum: Sum, { record, database }: Lived): void => {
  sum.checks += record.checks;
  sum.messages += record.messages;
  sum.restarts += record.restarts - 1;
  sum.fenced += record.fenced;
  sum.incidents += database.incidents.size;
  sum.alerts += record.delivered.length;
  for (const { incident } of database.incidents.values())
    if (incident.confirmed_at !== null) sum.confirmed += 1;
};

const addStory = (sum: Sum, seed: number): void => {
  const story = makeStory(seed);
  const lived = live(story);
  sum.monitorDays += monitorDays(story);
  sum.happenings += story.happenings.length;
  add(sum, lived);
  const violation = lived.record.violations[0];
  if (violation !== undefined) sum.failed = { seed, violation, of: 'network' };
};

const addJob = (sum: Sum, seed: number): void => {
  const job = makeHeartbeatStory(seed);
  sum.monitorDays += jobDays(job);
  sum.pings += job.pings.length;
  const violation = heartbeatFault(job);
  if (violation !== undefined) sum.failed = { seed, violation, of: 'job' };
};

const addWarnings = (sum: Sum, seed: number): void => {
  const violation = warningFault(makeWarningStory(seed));
  if (violation !== undefined) sum.failed = { seed, violation, of: 'warning' };
};

const addPlaces = (sum: Sum, seed: number): void => {
  const violation = placesFault(makePlacesStory(seed));
  if (violation !== undefined) sum.failed = { seed, violation, of: 'places' };
};

const addFleet = (sum: Sum, seed: number): void => {
  const violation = fleetFault(makeFleetStory(seed));
  if (violation !== undefined) sum.failed = { seed, violation, of: 'fleet' };
};

const addNotifications = (sum: Sum, seed: number): void => {
  const violation = notificationFault(makeNotificationStory(seed));
  if (violation !== undefined) sum.failed = { seed, violation, of: 'notification' };
};

/** A single mix says little of parts. */
const mixesEach = 2_000;

const addCauses = (sum: Sum, seed: number): void => {
  const violation = causeFault(seed * mixesEach, mixesEach);
  if (violation !== undefined) sum.failed = { seed, violation, of: 'cause' };
};

/** In a campaign of all kinds, causes are told once in so many seeds, because they take long. */
const causesEvery = 100;

export const campaign = (options: {
  readonly seed: number;
  readonly isEnough: (sum: Sum) => boolean;
  /**
   * Networks that check monitors (the default), jobs that ping, passes with warnings, monitors with
   * chosen places, fleets of coordinators, or one of each for every seed, and sometimes outages
   * with common causes; or channels that are notified, which takes longer.
   */
  readonly tells?: Tells;
  readonly onStory?: (sum: Sum) => void;
}): Sum => {
  const sum: Sum = {
    stories: 0,
    monitorDays: 0,
    checks: 0,
    messages: 0,
    restarts: 0,
    fenced: 0,
    happenings: 0,
    incidents: 0,
    confirmed: 0,
    alerts: 0,
    pings: 0,
    failed: null,
  };
  const { tells = 'network' } = options;
  for (let seed = options.seed; sum.failed === null && !options.isEnough(sum); seed += 1) {
    sum.stories += 1;
    const isTold = (one: typeof tells): boolean =>
      sum.failed === null &&
      (tells === one ||
        (tells === 'all' &&
          one !== 'notification' &&
          (one !== 'cause' || seed % causesEvery === 0)));
    if (isTold('network')) addStory(sum, seed);
    if (isTold('job')) addJob(sum, seed);
    if (isTold('warning')) addWarnings(sum, seed);
    if (isTold('places')) addPlaces(sum, seed);
    if (isTold('fleet')) addFleet(sum, seed);
    if (isTold('cause')) addCauses(sum, seed);
    if (isTold('notification')) addNotifications(sum, seed);
    options.onStory?.(sum);
  }
  return sum;
};

/**
 * The shortest story that still ends as badly: what can be left out is left out, what can be
 * shorter is made shorter.
 */

/**
 * What is wrong, without its numbers: a shorter story has other times and names for the same fault.
 */
const kindOf = (violation: string): string =>
  violation.replaceAll(/[\d.]+/g, '#').replaceAll(/ in [A-Z][A-Za-z+ ]*:/g, ':');

const violationOf = (story: Story): string | undefined => live(story).record.violations[0];

const withoutMonitor = (story: Story, gone: number): Story => {
  const renumbered = (happening: Happening): Happening[] => {
    if (!('monitor' in happening) || happening.monitor === null) return [happening];
    if (happening.monitor === gone) return [];
    return [
      happening.monitor > gone ? { ...happening, monitor: happening.monitor - 1 } : happening,
    ];
  };
  const monitors = story.monitors
    .filter(({ index }) => index !== gone)
    .map((monitor, index) => ({ ...monitor, index }));
  return { ...story, monitors, happenings: story.happenings.flatMap(renumbered) };
};

const withoutProbe = (story: Story, gone: number): Story => {
  const renumbered = (happening: Happening): Happening[] => {
    if (!('probe' in happening)) return [happening];
    if (happening.probe === gone) return [];
    return [happening.probe > gone ? { ...happening, probe: happening.probe - 1 } : happening];
  };
  const probes = story.probes
    .filter(({ index }) => index !== gone)
    .map((probe, index) => ({ ...probe, index }));
  return { ...story, probes, happenings: story.happenings.flatMap(renumbered) };
};

/** Smaller stories, the boldest first. */
function* smaller(story: Story): Generator<Story> {
  const { happenings, monitors, probes, start, end } = story;
  for (
    let size = Math.ceil(happenings.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let from = 0; from < happenings.length; from += size)
      yield { ...story, happenings: happenings.toSpliced(from, size) };
  }
  if (monitors.length > 1) for (const { index } of monitors) yield withoutMonitor(story, index);
  if (probes.length > 1) for (const { index } of probes) yield withoutProbe(story, index);
  const last = Math.max(start, ...happenings.map(({ until }) => until));
  for (const after of [5, 30, 120])
    if (end > last + after * 60_000) yield { ...story, end: last + after * 60_000 };
  const first = Math.min(
    end,
    ...happenings.map((each) => (each.is === 'window' ? Math.min(each.made, each.at) : each.at)),
  );
  if (first - start > 3_600_000) yield { ...story, start: first - 1_200_000 };
  for (const [index, happening] of happenings.entries()) {
    const half = Math.floor((happening.until - happening.at) / 2);
    if (half >= 1_000)
      yield {
        ...story,
        happenings: happenings.with(index, { ...happening, until: happening.until - half }),
      };
  }
}

/** Tries until nothing smaller fails in the same way, or after so many attempts. */
export const shrink = (
  story: Story,
  faultOf = violationOf,
): { readonly story: Story; readonly fault: string } =>
  smallestThatFails(story, { faultOf, kindOf, smaller }, 400);
