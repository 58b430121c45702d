import type { Clock } from '../../shared/base/clock.ts';
import type { Assignment, Roster } from '../../shared/checks/checks-assignment.ts';
import { insideOf } from '../../shared/checks/checks-inside-networks.ts';
import { type Placed, shareOf } from '../../shared/checks/checks-placement.ts';
import { createWheel } from './checking-wheel.ts';

/**
 * Which of the assignments are this probe's to check, and when: the pure placement over the roster, kept in the wheel.
 *
 * Modes: `idle` (no roster yet: nothing is ours) → `running` (a timer for the end of each slot) → `stopped`.
 * Heartbeats take no turns: they are deadlines, and whoever watches them asks `isMine`.
 */
export type Schedule = {
  readonly put: (assignment: Assignment) => void;
  readonly drop: (monitor: string) => void;
  readonly setRoster: (roster: Roster) => void;
  readonly start: () => void;
  readonly stop: () => void;
  /** How many monitors this probe takes turns for. */
  readonly count: () => number;
};

/** The assignment as placement sees it. */
const placed = (assignment: Assignment): Placed => {
  const inside = insideOf(assignment.kind, assignment.target, assignment.config);
  return inside ? { ...assignment, inside: inside.addresses } : assignment;
};

/** A clock that was set back since the wheel was advanced is noticed after so long. */
const mostMs = 1_000;

export const createSchedule = (options: {
  readonly self: string;
  readonly clock: Clock;
  /** A turn has come; `at` is when it was due. */
  readonly onDue: (assignment: Assignment, at: number) => void;
}): Schedule => {
  const { self, clock, onDue } = options;
  const wheel = createWheel();
  const indexes = new Map<string, number>();
  const assignments: (Assignment | undefined)[] = [];
  const free: number[] = [];
  let roster: Roster | undefined;
  let timer: NodeJS.Timeout | undefined;

  const seat = (index: number, assignment: Assignment, now: number): void => {
    const turns = roster && assignment.kind !== 'heartbeat' ? shareOf(placed(assignment), self, roster) : undefined;
    if (turns) wheel.add(index, turns, now);
    else wheel.remove(index);
  };

  const tick = (): void => {
    const now = clock.now();
    wheel.advance(now, (index, at) => {
      const assignment = assignments[index];
      if (assignment) onDue(assignment, at);
    });
    const after = clock.now();
    timer = setTimeout(tick, Math.min(mostMs, Math.max(1, wheel.nextAt(after) - after)));
  };

  return {
    put: (assignment) => {
      let index = indexes.get(assignment.monitor);
      if (index === undefined) {
        index = free.pop() ?? assignments.length;
        indexes.set(assignment.monitor, index);
      }
      assignments[index] = assignment;
      seat(index, assignment, clock.now());
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
      roster = next;
      const now = clock.now();
      for (const [index, assignment] of assignments.entries()) if (assignment) seat(index, assignment, now);
    },
    start: () => {
      timer ??= setTimeout(tick, 1);
    },
    stop: () => clearTimeout(timer),
    count: () => wheel.count(),
  };
};
