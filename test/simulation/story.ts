import type { Continent } from '../../shared/base/continents.ts';

/**
 * A story: a small world and what befalls it, made from a seed (simulation/make-story.ts), told to
 * the simulator, and cut shorter when it ends badly.
 */

export type ProbeSpec = {
  readonly index: number;
  readonly id: string;
  readonly continent: Continent;
};

export type MonitorSpec = {
  readonly index: number;
  readonly id: string;
  readonly interval_ms: number;
  readonly timeout_ms: number;
  readonly continents: readonly Continent[] | null;
  readonly alert_after_ms: number;
  readonly sampled: boolean;
  readonly channels: readonly string[];
};

type Span = { readonly at: number; readonly until: number };

export type Happening = Span &
  (
    | {
        readonly is: 'outage';
        readonly monitor: number;
        readonly where: readonly Continent[];
        readonly slow: readonly Continent[];
        readonly every: number | null;
      }
    | { readonly is: 'probe cut off'; readonly probe: number }
    | { readonly is: 'probe dead'; readonly probe: number; readonly keepsSpool: boolean }
    | {
        readonly is: 'probe sick';
        readonly probe: number;
        readonly lies: boolean;
        /** It lies of this one alone, and of targets that nobody else here checks. */
        readonly monitor?: number;
      }
    | { readonly is: 'probe skewed'; readonly probe: number; readonly by: number }
    /** All of them, and each is back in a moment of its own, the first so long before the last. */
    | { readonly is: 'probes cut off'; readonly apart_ms: number }
    | { readonly is: 'continent cut off'; readonly continent: Continent }
    | { readonly is: 'coordinator killed'; readonly step: number }
    | { readonly is: 'coordinator frozen' }
    /**
     * The coordinator's clock, by which all probes go, is so far ahead, and is set back at the end.
     */
    | { readonly is: 'clock ahead'; readonly by: number }
    /** Nothing can be written for so long. */
    | { readonly is: 'database refuses' }
    /** The next commit is never answered; whether it was made, nobody is told. */
    | { readonly is: 'call hangs' }
    | { readonly is: 'bus away' }
    | { readonly is: 'bus wiped' }
    | {
        readonly is: 'rough bus';
        readonly drops: number;
        readonly repeats: number;
        readonly delays: number;
        readonly delay_ms: number;
      }
    | { readonly is: 'edited'; readonly monitor: number }
    | { readonly is: 'paused'; readonly monitor: number }
    | {
        readonly is: 'window';
        readonly monitor: number | null;
        readonly group: string | null;
        readonly made: number;
        readonly deleted: number | null;
      }
    | { readonly is: 'moved'; readonly monitor: number; readonly group: string | null }
  );

export type Story = {
  readonly seed: number;
  readonly start: number;
  readonly end: number;
  readonly probes: readonly ProbeSpec[];
  readonly monitors: readonly MonitorSpec[];
  readonly happenings: readonly Happening[];
  /**
   * Whether probes take their turns from the real wheel, slot by slot, instead of computing the
   * next one.
   */
  readonly wheel: boolean;
};

const day = 86_400_000;

export const monitorDays = ({ start, end, monitors }: Story): number =>
  ((end - start) / day) * monitors.length;

const timeOf = (story: Story, time: number): string => {
  const seconds = (time - story.start) / 1000;
  const days = Math.floor(seconds / 86_400);
  const clock = new Date((seconds - days * 86_400) * 1000).toISOString().slice(11, 23);
  return days > 0 ? `${days}d ${clock}` : clock;
};

const wordsOf = (value: unknown): string =>
  Array.isArray(value) ? value.join('+') : String(value);

/** The story as people read it. */
export const describeStory = (story: Story): string => {
  const lines = [`seed ${story.seed}, from ${story.start}`];
  for (const { index, continent } of story.probes) lines.push(`probe ${index} in ${continent}`);
  for (const {
    index,
    interval_ms,
    timeout_ms,
    continents: allowed,
    alert_after_ms,
    sampled,
  } of story.monitors) {
    const extra = `${allowed ? `, from ${allowed.join('+')}` : ''}${alert_after_ms > 0 ? `, alert after ${alert_after_ms / 1000} s` : ''}${sampled ? '' : ', not sampled'}`;
    lines.push(
      `monitor ${index} every ${interval_ms / 1000} s, time limit ${timeout_ms / 1000} s${extra}`,
    );
  }
  for (const { is, at, until, ...rest } of story.happenings) {
    const details = Object.entries(rest).map(([name, value]) => `${name} ${wordsOf(value)}`);
    lines.push(
      `${timeOf(story, at)} ${until > at ? `to ${timeOf(story, until)} ` : ''}${is}${details.length > 0 ? `: ${details.join(', ')}` : ''}`,
    );
  }
  lines.push(`${timeOf(story, story.end)} the end`);
  return lines.join('\n');
};

/** Chance from one seed: the same seed gives the same story, on every machine. */
export type Chance = {
  /** From 0 to 1, 1 excluded. */
  readonly next: () => number;
  readonly between: (least: number, limit: number) => number;
  readonly happens: (share: number) => boolean;
  readonly pick: <T>(list: readonly T[]) => T;
  readonly some: <T>(list: readonly T[], least: number, limit: number) => T[];
};

const mixBits = (value: number): number => {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x119de1f3);
  return (mixed ^ (mixed >>> 16)) >>> 0;
};

export const createChance = (seed: number): Chance => {
  let state = mixBits(seed + 0x9e3779b9);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    return mixBits(state) / 2 ** 32;
  };
  const between = (least: number, limit: number) =>
    least + Math.floor(next() * (limit - least + 1));
  const pick = <T>(list: readonly T[]): T => {
    const chosen = list[Math.floor(next() * list.length)];
    if (chosen === undefined) throw new Error('nothing to pick from');
    return chosen;
  };
  return {
    next,
    between,
    pick,
    happens: (share) => next() < share,
    some: (list, least, limit) => {
      const left = [...list];
      const count = Math.min(list.length, between(least, limit));
      return Array.from({ length: count }, () =>
        left.splice(Math.floor(next() * left.length), 1),
      ).flat();
    },
  };
};

/**
 * Chance by name instead of by order: what happens to the third check of a probe hangs on nothing
 * else, so that a story from which something was taken out goes on as before.
 */
export const noise = (seed: number, subject: number, count: number, salt: number): number =>
  mixBits(
    Math.imul(
      mixBits(Math.imul(mixBits(seed ^ Math.imul(salt, 0x85ebca6b)) ^ subject, 0xc2b2ae35)) ^ count,
      0x27d4eb2f,
    ),
  ) /
  2 ** 32;

/**
 * The smallest case that still fails in the same way, as far as so many attempts find it: of the
 * smaller ones of what is smallest yet, the first that fails so takes its place. @throws when the
 * whole one does not fail.
 */
export const smallestThatFails = <Case>(
  whole: Case,
  of: {
    readonly faultOf: (one: Case) => string | undefined;
    /** What is wrong without the times and names that a smaller case has others of. */
    readonly kindOf: (fault: string) => string;
    /** The boldest first. */
    readonly smaller: (one: Case) => Iterable<Case>;
  },
  attempts: number,
): { readonly story: Case; readonly fault: string } => {
  const first = of.faultOf(whole);
  if (first === undefined) throw new Error('what does not fail cannot be shrunk');
  let best = { story: whole, fault: first };
  let left = attempts;
  for (let improved = true; improved && left > 0; ) {
    improved = false;
    for (const candidate of of.smaller(best.story)) {
      left -= 1;
      if (left <= 0) break;
      const fault = of.faultOf(candidate);
      if (fault === undefined || of.kindOf(fault) !== of.kindOf(best.fault)) continue;
      best = { story: candidate, fault };
      improved = true;
      break;
    }
  }
  return best;
};
