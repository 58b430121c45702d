import type { Clock } from '../../shared/base/clock.ts';
import type { Assignment, Roster } from '../../shared/checks/checks-assignment.ts';
import { insideOf } from '../../shared/checks/checks-inside-networks.ts';
import { type Placed, shareOf } from '../../shared/checks/checks-placement.ts';
import { createWheel, slotMs } from './checking-wheel.ts';

/**
 * Which of the assignments are this probe's to check, and when: the pure placement over the roster, kept in the wheel.
 *
 * Modes: `idle` (no roster yet: nothing is ours) → `running` (a timer for the end of each slot) → `stopped`.
 * Heartbeats take no turns: they are deadlines, and whoever watches them asks `isMine`.
 *
 * All probes go by a roster from the same moment on, a second after it was published, so that each turn is taken by one of them, whoever hears
 * of it first. One that hears of it later takes the turns that were its own by then, at once.
 */
export type Schedule = {
  readonly put: (assignment: Assignment) => void;
  readonly drop: (monitor: string) => void;
  readonly setRoster: (roster: Roster) => void;
  readonly start: () => void;
  readonly stop: () => void;
  /** How many monitors this probe takes turns for. */
  readonly count: () => number;
  /** Whether it goes by a roster in which others take this probe's turns. */
  readonly isHandedOver: () => boolean;
};

/** The assignment as placement sees it. */
const placed = (assignment: Assignment): Placed => {
  const inside = insideOf(assignment.kind, assignment.target, assignment.config);
  return inside ? { ...assignment, inside: inside.addresses } : assignment;
};

/** A clock that was set back since the wheel was advanced is noticed after so long. */
const mostMs = 1_000;
/** A roster is on every continent by then. */
const heededAfterMs = 1_000;
/** What was missed before has been taken by others (rule 7), or was not to be taken. */
const mostMissedMs = 15_000;

type Coming = { readonly roster: Roster; readonly from: number };

export const createSchedule = (options: {
  readonly self: string;
  readonly clock: Clock;
  /** A turn has come; `at` is when it was due. */
  readonly onDue: (assignment: Assignment, at: number) => void;
  /** When this probe stopped taking its turns the last time: those since then are taken at the start. */
  readonly stoppedAt?: number | undefined;
}): Schedule => {
  const { self, clock, onDue, stoppedAt } = options;
  const wheel = createWheel();
  const indexes = new Map<string, number>();
  const assignments: (Assignment | undefined)[] = [];
  const free: number[] = [];
  /** Turns before the start that nobody took. */
  let missed: { readonly monitor: string; readonly at: number }[] | undefined = [];
  let roster: Roster | undefined;
  let coming: Coming[] = [];
  let timer: NodeJS.Timeout | undefined;

  const due = (index: number, at: number): void => {
    const assignment = assignments[index];
    if (assignment) onDue(assignment, at);
  };

  const seat = (index: number, assignment: Assignment, from: number): void => {
    const turns = roster && assignment.kind !== 'heartbeat' ? shareOf(placed(assignment), self, roster) : undefined;
    const at = turns && wheel.add(index, turns, from);
    if (!turns) wheel.remove(index);
    if (at === undefined) return;
    if (missed) missed.push({ monitor: assignment.monitor, at });
    else onDue(assignment, at);
  };

  const heed = ({ roster: next, from }: Coming): void => {
    roster = next;
    for (const [index, assignment] of assignments.entries()) if (assignment) seat(index, assignment, from);
  };

  const advance = (now: number): void => {
    while (coming[0] && coming[0].from <= now) {
      const [next, ...later] = coming;
      coming = later;
      wheel.advance(next.from, due);
      heed(next);
    }
    wheel.advance(now, due);
  };

  const tick = (): void => {
    advance(clock.now());
    const after = clock.now();
    const next = Math.min(wheel.nextAt(after), coming[0]?.from ?? Number.POSITIVE_INFINITY);
    timer = setTimeout(tick, Math.min(mostMs, Math.max(1, next - after)));
  };

  /** Before the start, what is put may have been missed since the last stop. */
  const since = (now: number): number => (missed ? Math.max(stoppedAt ?? now, now - mostMissedMs) : now);

  // What is put from here on cannot be due in a slot before.
  wheel.advance(clock.now(), due);
  return {
    put: (assignment) => {
      let index = indexes.get(assignment.monitor);
      if (index === undefined) {
        index = free.pop() ?? assignments.length;
        indexes.set(assignment.monitor, index);
      }
      assignments[index] = assignment;
      seat(index, assignment, since(clock.now()));
    },
    drop: (monitor) => {
      const index = indexes.get(monitor);
      if (index === undefined) return;
      wheel.remove(index);
      indexes.delete(monitor);
      assignments[index] = undefined;
      free.push(index);
    },
    setRoster: (next) => {
      const now = clock.now();
      // Nobody waits for longer, whatever the clock of whoever published it says. Whole slots, because they are worked through as a whole.
      const from = Math.ceil((Math.min(next.epoch, now) + heededAfterMs) / slotMs) * slotMs;
      if (missed) heed({ roster: next, from: since(now) });
      else if (roster === undefined) heed({ roster: next, from: now });
      else if (from > now) coming = [...coming, { roster: next, from: Math.max(from, coming.at(-1)?.from ?? 0) }];
      else {
        advance(now);
        coming = [];
        heed({ roster: next, from: Math.max(from, now - mostMissedMs) });
      }
    },
    start: () => {
      if (timer) return;
      const before = missed ?? [];
      missed = undefined;
      timer = setTimeout(tick, 1);
      for (const { monitor, at } of before) due(indexes.get(monitor) ?? -1, at);
    },
    stop: () => clearTimeout(timer),
    count: () => wheel.count(),
    isHandedOver: () => roster?.probes.every(({ id, healthy }) => id !== self || !healthy) ?? false,
  };
};
