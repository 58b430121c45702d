import { briefDuration } from '../../../shared/base/time.ts';
import type { StepEvent } from './telling-step.ts';

/** What leaves together, in which order, and how it is said (rule 32). */

export type Item = {
  readonly event: StepEvent;
  readonly thread: string;
  readonly group: string | null;
  readonly cause: string;
  readonly name: string;
  readonly monitor_id: string;
  readonly started_at: number;
};

/** How far an incident is in what is told of it. */
const stages: Readonly<Record<string, number>> = { down: 0, flapping: 0, reminder: 1, acknowledged: 2, was_down: 3, up: 3, closed: 3 };

/** Of what is told together the newest state of each monitor, in the order in which these stood. */
export const newestOfEach = <State extends { readonly event: string; readonly started_at: number }>(
  states: readonly State[],
  monitorOf: (state: State) => string,
): State[] => {
  const newest = new Map<string, State>();
  for (const state of states) {
    const known = newest.get(monitorOf(state));
    const stage = (one: State): number => stages[one.event] ?? 0;
    const isNewer =
      known === undefined || state.started_at > known.started_at || (state.started_at === known.started_at && stage(state) >= stage(known));
    if (isNewer) newest.set(monitorOf(state), state);
  }
  return states.filter((state) => newest.get(monitorOf(state)) === state);
};

/** The gravest first: it gives the message its colour and its title. */
const gravity: readonly StepEvent[] = ['down', 'flapping', 'reminder', 'was_down', 'up', 'closed', 'acknowledged'];

const text = new Intl.Collator('en', { numeric: true }).compare;
/** Those of a group stand together, and those without one last; within it what has one cause. */
const order = (a: Item, b: Item): number =>
  gravity.indexOf(a.event) - gravity.indexOf(b.event) ||
  Number(a.group === null) - Number(b.group === null) ||
  text(a.group ?? '', b.group ?? '') ||
  text(a.cause, b.cause) ||
  text(a.name, b.name);

/** The messages that what is due makes: one, or one for each talk where something stands open at the receiver until its end. */
export const messagesOf = <Due extends Item>(
  due: readonly Due[],
  isByThread: boolean,
): { readonly event: StepEvent; readonly items: readonly Due[] }[] => {
  const threads = isByThread ? [...Map.groupBy(due, ({ thread }) => thread).values()] : due.length === 0 ? [] : [due];
  return threads.map((items) => {
    const sorted = items.toSorted(order);
    const [gravest] = newestOfEach(sorted, ({ monitor_id }) => monitor_id);
    return { event: gravest?.event ?? 'down', items: sorted };
  });
};

export type Said = Item & {
  readonly scope: string | null;
  /** Which continents saw it, and which are asked; null where that is not known. */
  readonly continents: { readonly failed: readonly string[]; readonly passed: readonly string[]; readonly asked: readonly string[] } | null;
  readonly ended_at: number | null;
  readonly acknowledged_as: string | null;
  /** Told only after it was steady for a while. */
  readonly steady: boolean;
};

const andList = new Intl.ListFormat('en', { type: 'conjunction' });

const where: Readonly<Record<string, string>> = {
  everywhere: ' everywhere',
  some_continents: ' from some continents',
  one_continent: ' from one continent',
};

/** From where it is down, and which continents have not answered yet. */
const downFrom = ({ scope, continents }: Pick<Said, 'scope' | 'continents'>): string => {
  if (scope !== 'some_continents' || continents === null) return where[scope ?? ''] ?? '';
  const { failed, passed, asked } = continents;
  const all = new Set([...asked, ...failed, ...passed]);
  const checking = asked.filter((continent) => !failed.includes(continent) && !passed.includes(continent));
  const verb = checking.length === 1 ? 'is' : 'are';
  return ` from ${failed.length} of ${all.size} continents${checking.length === 0 ? '' : `; ${andList.format(checking)} ${verb} checking`}`;
};

const one = ({ event, name, cause, scope, continents, started_at, ended_at, acknowledged_as, steady }: Said, now: number): string => {
  const end = ended_at ?? now;
  const after = briefDuration(end - started_at);
  if (event === 'down') return `${name} is down${downFrom({ scope, continents })}: ${cause}.`;
  if (event === 'reminder') return `${name} is still down after ${briefDuration(now - started_at)}: ${cause}.`;
  if (event === 'flapping')
    return `${name} is flapping: it went down three times within 30 min. You will hear again once it is stable for 15 min or down for 5.`;
  if (event === 'was_down') return `${name} was down for ${after}: ${cause}.`;
  if (event === 'acknowledged') return `${name} is acknowledged by ${acknowledged_as ?? 'somebody'}.`;
  if (event === 'closed') return `${name} was paused, changed or deleted while it was down: its incident was closed after ${after}.`;
  return steady ? `${name} is up again, and has been stable for 15 min.` : `${name} is up again after ${after}.`;
};

const verbs: Readonly<Record<StepEvent, readonly [one: string, many: string]>> = {
  down: ['is down', 'are down'],
  flapping: ['is flapping', 'are flapping'],
  reminder: ['is still down', 'are still down'],
  was_down: ['was down', 'were down'],
  up: ['is up again', 'are up again'],
  closed: ['is no longer monitored', 'are no longer monitored'],
  acknowledged: ['is acknowledged', 'are acknowledged'],
};

/** Of these the cause is worth a title: they are down, and where it is one, it is what to look for. */
const withCause: readonly StepEvent[] = ['down', 'reminder', 'was_down'];

/** What the matter is, in one sentence: the newest state of each monitor, and the one cause where it is one. */
export const sentenceOf = (told: readonly Said[], now: number): string => {
  const items = newestOfEach(told, ({ monitor_id }) => monitor_id);
  const [first] = items;
  if (first !== undefined && items.length === 1) return one(first, now);
  const counts = [...Map.groupBy(items, ({ event }) => event)];
  const parts = counts.map(([event, some], index) => {
    const [single, many] = verbs[event];
    const noun = index > 0 ? '' : some.length === 1 ? ' monitor' : ' monitors';
    return `${some.length}${noun} ${some.length === 1 ? single : many}`;
  });
  const isOne = first !== undefined && items.every(({ event, cause }) => event === first.event && cause === first.cause);
  return `${parts.join(', ')}${isOne && withCause.includes(first.event) ? `: ${first.cause}` : ''}.`;
};
