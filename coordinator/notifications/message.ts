import { z } from 'zod';
import { type Continents, downFrom, type SeenFrom } from '../../shared/base/text.ts';
import { briefDuration } from '../../shared/base/time.ts';
import { causeSentence } from '../../shared/checks/causes.ts';
import type { Cause } from '../../shared/checks/result.ts';
import { type StoredSides, sidesFrom } from '../incidents/writes.ts';
import { localOf } from '../maintenance/zones.ts';
import { type CommonCause, causesTold } from './causes.ts';
import type { Hours } from './hours.ts';
import type { Flapping, HeldBy, StepEvent, WarningEvent } from './policy.ts';

/** What leaves together, in which order, and in which words (rule 32). */

type Item = {
  readonly event: StepEvent;
  readonly thread: string;
  readonly group: string | null;
  readonly cause: string;
  readonly name: string;
  readonly monitor_id: string;
  readonly started_at: number;
};

/** The messages for what is due: one for people; for a program, one per event. */
export function messagesOf<Due extends Item>(
  due: readonly Due[],
  gathers: boolean,
): { readonly event: StepEvent; readonly items: readonly Due[] }[] {
  if (!gathers) return due.map((item) => ({ event: item.event, items: [item] }));
  const items = due.toSorted(order);
  const [gravest] = newestOfEach(items, ({ monitor_id }) => monitor_id);
  return gravest === undefined ? [] : [{ event: gravest.event, items }];
}

/** Gravest first: the first event gives the message its colour and its title. */
const gravity: readonly StepEvent[] = [
  'down',
  'flapping',
  'reminder',
  'was_down',
  'up',
  'closed',
  'acknowledged',
];

const text = new Intl.Collator('en', { numeric: true }).compare;

/** Sorts by group, with monitors of no group last; within a group, by cause. */
function order(a: Item, b: Item): number {
  return (
    gravity.indexOf(a.event) - gravity.indexOf(b.event) ||
    Number(a.group === null) - Number(b.group === null) ||
    text(a.group ?? '', b.group ?? '') ||
    text(a.cause, b.cause) ||
    text(a.name, b.name)
  );
}

/** How far an incident has progressed, by event. */
const stages: Readonly<Record<string, number>> = {
  down: 0,
  flapping: 0,
  reminder: 1,
  acknowledged: 2,
  was_down: 3,
  up: 3,
  closed: 3,
};

/** The newest state of each monitor in one message, in the original order. */
export function newestOfEach<State extends { readonly event: string; readonly started_at: number }>(
  states: readonly State[],
  monitorOf: (state: State) => string,
): State[] {
  const newest = new Map<string, State>();
  for (const state of states) {
    const known = newest.get(monitorOf(state));
    const stage = (one: State): number => stages[one.event] ?? 0;
    const isNewer =
      known === undefined ||
      state.started_at > known.started_at ||
      (state.started_at === known.started_at && stage(state) >= stage(known));
    if (isNewer) newest.set(monitorOf(state), state);
  }
  return states.filter((state) => newest.get(monitorOf(state)) === state);
}

/** What it is about is up (rule 44). */
export function isWarning({ event }: Pick<Notification, 'event'>): boolean {
  return event === 'warning' || event === 'warning_over';
}

type Said = Item & {
  /** Where it is seen, and where it breaks when both sides of it are checked and tell that. */
  readonly seen: SeenFrom;
  readonly ended_at: number | null;
  readonly acknowledged_as: string | null;
  /** Sent only after the monitor was steady for a while. */
  readonly steady: boolean;
  /**
   * Of one that was down: that it is told late, and when we learned of it where that was late.
   */
  readonly late: { readonly learned_at: number | null } | null;
  /** Of one that flaps: how much of it passes, where that is known. */
  readonly rate: string | null;
  /** The cause that it has in common with others. */
  readonly common: CommonCause | null;
};

/**
 * What a notification says, apart from its format: one value that every kind of channel makes its
 * message of. The deliverer makes it from stored rows; a kind escapes, shortens and colours it for
 * its medium. Names, targets and causes are data of others: no text here carries markup.
 *
 * Every instant is in whole milliseconds since 1970 (UTC), as everywhere inside.
 */
export const notifiedEvents = [
  'down',
  'up',
  'was_down',
  'closed',
  'reminder',
  'acknowledged',
  'flapping',
  'warning',
  'warning_over',
  'test',
] as const;
/**
 * `was_down`: a "down" whose incident ended before it was accepted. `closed`: ended by pausing,
 * deleting or an edit (rule 17). `flapping`: sent once, then silence. `warning` and `warning_over`:
 * of monitors that are up (rule 44).
 */
export type NotifiedEvent = (typeof notifiedEvents)[number];

/** One incident of one monitor. */
export type NotifiedMonitor = {
  readonly id: string;
  readonly incident: string;
  /** The event of this incident: what became due together may be several kinds. */
  readonly event: NotifiedEvent;
  readonly name: string;
  /** The name of its group, for the order of a list. */
  readonly group: string | null;
  /** What is checked, as people write it; null where there is nothing to show (a heartbeat). */
  readonly target: string | null;
  /** Why, in a plain sentence without a full stop: "status 503, expected 2xx". */
  readonly cause: string;
  readonly started_at: number;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  /**
   * Where it was observed first and where it was confirmed, in words: "Frankfurt, Europe"; null
   * without an observing probe.
   */
  readonly seen_from: string | null;
  readonly confirmed_from: string | null;
  /**
   * What every continent observed, on one line: "down from Europe, Asia; up from North America".
   */
  readonly matrix: string | null;
  /** The id of what it has in common with others, where that is known by then. */
  readonly cause_id: string | null;
};

export type MessageLinks = {
  /** The incident's page; for several incidents, their list. */
  readonly incident: string;
  /**
   * Signed, and valid only for what this message covers: GET shows a button, POST acknowledges.
   * Null where there is nothing to acknowledge.
   */
  readonly acknowledge: string | null;
  /** The same link, shorter, for an SMS. */
  readonly acknowledge_short: string | null;
  /** The page that explains why this message came, step by step. */
  readonly why: string;
  /** The channel's settings page. */
  readonly channel: string;
  /**
   * For mail (RFC 8058): POST unsubscribes this address alone, GET shows a button. Null for
   * channels that are no mailbox.
   */
  readonly unsubscribe: string | null;
};

/**
 * The thread that a message belongs to. It begins with a "down" message (of one incident or of
 * several); later messages about these reply to it.
 */
type MessageThread = {
  /**
   * The `key` of the message that began the thread (for that message, its own): dedup key of what
   * opens and closes, root of a mail thread.
   */
  readonly key: string;
  /**
   * The receiver's name for the first message of the thread (`Verdict.reference`), if it was
   * accepted and had one.
   */
  readonly reference: string | null;
  /**
   * Whether this message ends everything in the thread: only then does an "up" close something at
   * the receiver.
   */
  readonly over: boolean;
};

export type Notification = {
  /** The gravest event in the message; it decides colour, priority and title. */
  readonly event: NotifiedEvent;
  /**
   * What happened, in one sentence: "Checkout is down everywhere: status 503, expected 2xx." "12
   * monitors are down."
   */
  readonly sentence: string;
  /**
   * Each monitor once, in its newest state, in display order (by group, by common cause). Empty
   * only for a `test`.
   */
  readonly monitors: readonly NotifiedMonitor[];
  /** What else is down: some names, and how many in all. 0 means that everything else is up. */
  readonly others_down: { readonly count: number; readonly names: readonly string[] };
  readonly links: MessageLinks;
  readonly organisation: string;
  /** The organisation's time zone (IANA). */
  readonly time_zone: string;
  /**
   * The idempotency key: the same for every attempt, different for every message. At most 100
   * letters, digits, `-` and `.`.
   */
  readonly key: string;
  readonly thread: MessageThread;
  /** When it became due. */
  readonly at: number;
};

/**
 * What a message says, as it is stored: the same for every attempt. Its links are signed when it is
 * sent.
 */
export type Content = Omit<Notification, 'links' | 'thread' | 'key'> & {
  readonly thread: { readonly over: boolean };
};

/** A step that leaves, with what its message says about it. */
export type Leaving = Item & {
  readonly step: WaitingStep;
  readonly said: Said;
  readonly monitor: NotifiedMonitor;
};

const maxNames = 5;

export function contentOf(
  message: { readonly event: StepEvent; readonly items: readonly Leaving[] },
  around: {
    readonly organisation: string;
    readonly time_zone: string;
    /** Everything that is down in the organisation. */
    readonly down: readonly { readonly incident: string; readonly name: string }[];
    readonly over: boolean;
    readonly now: number;
  },
): Content {
  const { event, items } = message;
  const told = new Set(items.map(({ monitor }) => monitor.incident));
  const others = around.down.filter(({ incident }) => !told.has(incident));
  return {
    event,
    sentence: sentenceOf(
      items.map(({ said }) => said),
      around,
    ),
    monitors: items.map(({ monitor }) => monitor),
    others_down: { count: others.length, names: others.slice(0, maxNames).map(({ name }) => name) },
    organisation: around.organisation,
    time_zone: around.time_zone,
    at: Math.min(...items.map(({ step }) => step.due_at)),
    thread: { over: around.over },
  };
}

const verbs: Readonly<Record<StepEvent, readonly [one: string, many: string]>> = {
  down: ['is down', 'are down'],
  flapping: ['is flapping', 'are flapping'],
  reminder: ['is still down', 'are still down'],
  was_down: ['was down', 'were down'],
  up: ['is up again', 'are up again'],
  closed: ['is no longer monitored', 'are no longer monitored'],
  acknowledged: ['is acknowledged', 'are acknowledged'],
};

/**
 * Events whose cause belongs in the title: the monitor is down, and the cause, where there is one,
 * is what to look for.
 */
const withCause: readonly StepEvent[] = ['down', 'reminder', 'was_down'];

/** One sentence: the newest state of each monitor, and the cause where all share one. */
export function sentenceOf(
  told: readonly Said[],
  { now, time_zone }: { readonly now: number; readonly time_zone: string },
): string {
  if (told.some(({ late }) => late) && told.every(({ late }) => late))
    return lateSentence(told, time_zone);
  const items = newestOfEach(told, ({ monitor_id }) => monitor_id);
  const [first] = items;
  const causes = causesTold(items);
  if (first !== undefined && items.length + causes.more === 1) return one(first, now);
  const counts = [...Map.groupBy(items, ({ event }) => event)];
  const parts = counts.map(([event, some], index) => {
    const [single, many] = verbs[event];
    const count = some.length + (event === causes.event ? causes.more : 0);
    const noun = index > 0 ? '' : count === 1 ? ' monitor' : ' monitors';
    return `${count}${noun} ${count === 1 ? single : many}`;
  });
  if (causes.words !== null) return `${parts.join(', ')}${causes.words}.`;
  const isOne =
    first !== undefined &&
    items.every(({ event, cause }) => event === first.event && cause === first.cause);
  return `${parts.join(', ')}${isOne && withCause.includes(first.event) ? `: ${first.cause}` : ''}.`;
}

/** Of outages that are over, when they were: so that nobody takes them for one of now (rule 4). */
function lateSentence(told: readonly Said[], zone: string): string {
  const [first] = told;
  if (first === undefined) return '';
  const from = Math.min(...told.map(({ started_at }) => started_at));
  const to = Math.max(...told.map(({ ended_at, started_at }) => ended_at ?? started_at));
  const learned = told.flatMap(({ late }) => late?.learned_at ?? []);
  const days = new Set([from, to, ...learned].map((at) => localText(at, zone).slice(0, 10)));
  const clock = (at: number): string => localText(at, zone).slice(days.size > 1 ? 0 : 11, 16);
  const monitors = new Set(told.map(({ monitor_id }) => monitor_id)).size;
  const who =
    monitors > 1
      ? `${monitors} monitors were down`
      : `${first.name} was down${told.length > 1 ? ` ${told.length} times` : ''}`;
  const when =
    told.length > 1
      ? `between ${clock(from)} and ${clock(to)}`
      : `from ${clock(from)} to ${clock(to)}`;
  const known = learned.length === 0 ? '' : `; we learned it at ${clock(Math.max(...learned))}`;
  const cause = told.every((each) => each.cause === first.cause) ? `: ${first.cause}` : '';
  return `${who} ${when}${known} (${zone})${cause}.`;
}

function localText(at: number, zone: string): string {
  return new Date(localOf(at, zone)).toISOString().replace('T', ' ');
}

/** Hours and minutes of the clock there. */
export function localClock(at: number, zone: string): string {
  return localText(at, zone).slice(11, 16);
}

function one(
  { event, name, cause, seen, started_at, ended_at, acknowledged_as, steady, rate }: Said,
  now: number,
): string {
  const end = ended_at ?? now;
  const after = briefDuration(end - started_at);
  if (event === 'down')
    return `${name} is down${downFrom(seen)}: ${cause}.${seen.sides?.sentence == null ? '' : ` ${seen.sides.sentence}`}`;
  if (event === 'reminder')
    return `${name} is still down after ${briefDuration(now - started_at)}: ${cause}.`;
  if (event === 'flapping')
    return `${name} is flapping: it ${rate ?? 'went down three times within 30 min'}. You will hear again once it is stable for 15 min or down for 5.`;
  if (event === 'was_down') return `${name} was down for ${after}: ${cause}.`;
  if (event === 'acknowledged')
    return `${name} is acknowledged by ${acknowledged_as ?? 'someone'}.`;
  if (event === 'closed')
    return `${name} was paused, changed or deleted while it was down: its incident was closed after ${after}.`;
  return steady
    ? `${name} is up again, and has been stable for 15 min.`
    : `${name} is up again after ${after}.`;
}

/** One sentence about warnings of one monitor, or of many that share what is wrong. */
export function warningSentenceOf(monitors: readonly NotifiedMonitor[]): string {
  const [first] = monitors;
  if (first === undefined) return 'There are no warnings.';
  const begun = monitors.filter(({ event }) => event === 'warning');
  const isOne = monitors.every(
    ({ event, cause }) => event === first.event && cause === first.cause,
  );
  const who = monitors.length === 1 ? first.name : `${monitors.length} monitors`;
  if (begun.length === 0)
    return isOne ? `${who}: no longer a warning, ${first.cause}.` : `Warnings of ${who} are over.`;
  if (isOne) return `${who}: ${first.cause}.`;
  const over = monitors.length - begun.length;
  const have = begun.length === 1 ? '1 monitor has' : `${begun.length} monitors have`;
  return `${have} warnings${over === 0 ? '' : `, those of ${over} are over`}.`;
}

const monitorShape = z.object({
  id: z.string(),
  incident: z.string(),
  event: z.enum(notifiedEvents),
  name: z.string(),
  group: z.string().nullable(),
  target: z.string().nullable(),
  cause: z.string(),
  started_at: z.number(),
  confirmed_at: z.number().nullable(),
  resolved_at: z.number().nullable(),
  seen_from: z.string().nullable(),
  confirmed_from: z.string().nullable(),
  matrix: z.string().nullable(),
  cause_id: z.string().nullable().default(null),
}) satisfies z.ZodType<NotifiedMonitor, unknown>;

const contentShape = z.object({
  event: z.enum(notifiedEvents),
  sentence: z.string(),
  monitors: z.array(monitorShape),
  others_down: z.object({ count: z.number(), names: z.array(z.string()) }),
  organisation: z.string(),
  time_zone: z.string(),
  at: z.number(),
  thread: z.object({ over: z.boolean() }),
}) satisfies z.ZodType<Content, unknown>;

/** @throws when the stored value has another shape. */
export function contentFrom(stored: unknown): Content {
  return contentShape.parse(stored);
}

/**
 * `before`: what the "down" message said about this incident, which is all there is once the
 * monitor was deleted. `matrix`: what the continents observed.
 */
export function leavingOf(
  step: WaitingStep,
  as: {
    readonly event: StepEvent;
    readonly thread: string;
    readonly steady: boolean;
    /** Whether its "down" waited for long, because nobody could deliver it. */
    readonly waited: boolean;
    readonly rate: string | null;
    readonly matrix: string | null;
    readonly common: CommonCause | null;
    readonly before: NotifiedMonitor | undefined;
  },
): Leaving {
  const { event, thread, before } = as;
  const isGone = step.started_at === null;
  // A job is checked from nowhere: no place of the world belongs to its alert.
  const isOfJob = step.layer === 'heartbeat';
  const cause = isGone ? (before?.cause ?? 'it failed') : (as.rate ?? causeWords(step));
  const name = step.monitor_name ?? before?.name ?? 'A deleted monitor';
  const group = step.monitor_name === null ? (before?.group ?? null) : step.group_name;
  const started_at = step.started_at ?? before?.started_at ?? step.due_at;
  const resolved_at = isGone ? step.due_at : step.resolved_at;
  const item = { event, thread, group, cause, name, monitor_id: step.monitor_id, started_at };
  return {
    ...item,
    step,
    said: {
      ...item,
      seen: {
        scope: step.scope,
        layer: step.layer,
        continents: step.continents,
        sides: sidesFrom(step.sides, step.confirmed_at !== null),
      },
      ended_at: resolved_at,
      acknowledged_as: step.acknowledged_as,
      steady: as.steady,
      late: event === 'was_down' ? lateness(step, resolved_at, as.waited) : null,
      rate: as.rate,
      common: as.common,
    },
    monitor: {
      id: step.monitor_id,
      incident: step.incident_id,
      event,
      name,
      group,
      cause,
      started_at,
      resolved_at,
      target:
        step.monitor_name === null
          ? (before?.target ?? null)
          : step.type === 'heartbeat'
            ? null
            : step.target,
      confirmed_at: step.confirmed_at ?? before?.confirmed_at ?? null,
      seen_from: isGone
        ? (before?.seen_from ?? null)
        : isOfJob
          ? null
          : from(step.seen_probe, step.seen_continent),
      confirmed_from: isGone
        ? (before?.confirmed_from ?? null)
        : isOfJob
          ? null
          : from(step.confirmed_probe, step.confirmed_continent),
      matrix: isOfJob ? null : (as.matrix ?? before?.matrix ?? null),
      cause_id: step.cause_id ?? before?.cause_id ?? null,
    },
  };
}

/** A message takes less, as does a bucket (rule 32). */
const lateAfter = 120_000;

function lateness(step: WaitingStep, resolved_at: number | null, waited: boolean): Said['late'] {
  const known = step.created_at;
  const isLate = resolved_at !== null && known - resolved_at > lateAfter;
  return isLate || waited ? { learned_at: isLate ? known : null } : null;
}

/** Whether something that was due then is told late now. */
export function isOld(due_at: number, now: number): boolean {
  return now - due_at > lateAfter;
}

/**
 * Causes are full sentences; inside another sentence they begin in lower case and have no full
 * stop.
 */
function causeWords(step: WaitingStep): string {
  return step.cause === null ? 'it failed' : lowered(causeSentence(step.cause));
}

export function lowered(sentence: string): string {
  return (
    sentence
      .replace(/\.$/, '')
      // Matches a word, but not a name in capitals such as TLS.
      .replace(/^[A-Z](?=[a-z]|\s)/, (letter) => letter.toLowerCase())
  );
}

function from(probe: string | null, continent: string | null): string | null {
  return probe === null ? null : continent === null ? probe : `${probe}, ${continent}`;
}

/** What every continent observed, on one line. */
export function matrixLine(
  seen: readonly { readonly continent: string; readonly failed: boolean }[],
): string | null {
  const of = (failed: boolean) =>
    seen.filter((each) => each.failed === failed).map(({ continent }) => continent);
  const parts = [
    ['down from', of(true)],
    ['up from', of(false)],
  ] as const;
  const words = parts
    .filter(([, continents]) => continents.length > 0)
    .map(([word, continents]) => `${word} ${continents.join(', ')}`);
  return words.length === 0 ? null : words.join('; ');
}

/** The queries that turn due steps into messages. */

export type ComposedChannel = {
  readonly id: string;
  readonly organisation_id: string;
  readonly organisation: string;
  readonly time_zone: string;
  readonly kind: string;
  /** Whether what becomes due together is told together (rule 32). */
  readonly gathers: boolean;
  readonly enabled: boolean;
  readonly deleted: boolean;
  readonly verified: boolean;
  readonly unsubscribed: boolean;
  readonly delay_s: number;
  readonly reminder_s: number | null;
  readonly hours: Hours | null;
  readonly bucket_full_at: number;
  readonly gathering_since: number | null;
  readonly gathered_at: number | null;
};

export type WaitingStep = {
  readonly id: number;
  readonly channel_id: string;
  readonly organisation_id: string;
  readonly monitor_id: string;
  readonly incident_id: string;
  readonly event: StepEvent;
  readonly seq: number;
  readonly due_at: number;
  readonly look_at: number;
  /** When its alert became known to be due. */
  readonly created_at: number;
  readonly flapping: Flapping;
  readonly held_by: HeldBy | null;
  /** Whether it was told before, or an earlier outage of its monitor by the same cause. */
  readonly was_told: boolean;
  /** Null once the monitor, and its incidents with it, was deleted. */
  readonly started_at: number | null;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  readonly acknowledged_at: number | null;
  readonly acknowledged_as: string | null;
  readonly cause: Cause | null;
  readonly scope: string | null;
  readonly layer: string | null;
  /** The continents that the scope was judged from; null where private places saw it. */
  readonly continents: Continents | null;
  readonly sides: StoredSides | null;
  readonly seen_probe: string | null;
  readonly seen_continent: string | null;
  readonly confirmed_probe: string | null;
  readonly confirmed_continent: string | null;
  readonly cause_id: string | null;
  readonly monitor_name: string | null;
  readonly target: string | null;
  readonly type: string | null;
  readonly group_name: string | null;
};

export type NewMessage = {
  readonly id: string;
  readonly organisation: string;
  readonly channel: string;
  readonly event: string;
  readonly thread: string;
  readonly told: unknown;
  readonly due_at: number;
  readonly steps: readonly { readonly id: number; readonly event: StepEvent | WarningEvent }[];
};
