import { performance } from 'node:perf_hooks';
import { hashOf } from '../../../shared/checks/assignment.ts';
import { CheckDeadline } from '../limits.ts';
import type { CheckContext } from '../types.ts';
import { connectFirst, openSocket } from './connect.ts';
import { ownCodes } from './observation.ts';
import type { ConnectionDependencies } from './reach.ts';

/**
 * Tries, after a check that passed, whether other addresses of its target take a connection too. The
 * code of the first failure; empty when one of them took it.
 */
export type Trial = (
  context: CheckContext,
  addresses: readonly string[],
  port: number,
) => Promise<string>;

/** The check had no time left to find out. */
export const untried = 'UNTRIED';

/** What says that an address does not answer, and not that we may not or cannot ask it. */
export const codesOfTarget: readonly string[] = [
  ownCodes.deadline,
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ETIMEDOUT',
];

/** How often other addresses of a monitor are tried, each continent in its turns. */
const everyMs = 900_000;

export function isDue({ assignment: { monitor, interval_ms }, started_at }: CheckContext): boolean {
  return hashOf(`${monitor} ${started_at}`) % Math.max(1, Math.round(everyMs / interval_ms)) === 0;
}

/** How long an address has to take a connection. */
const patience = 2_000;

export function createTrial({
  families,
  trust,
  proxy,
}: Pick<ConnectionDependencies, 'families' | 'trust' | 'proxy'>): Trial {
  return async ({ deadline, guard }, addresses, port) => {
    const began = performance.now();
    if (deadline.isOver() || deadline.due - began < patience) return untried;
    const own = new CheckDeadline(began, began + patience);
    const whole = { expire: () => own.end() };
    deadline.listen(whole);
    own.listenInSteps();
    try {
      const { socket, code } = await connectFirst(
        addresses,
        port,
        guard,
        families(),
        own,
        (address, port, through) => openSocket(address, port, null, trust, through),
        proxy,
      );
      socket?.destroy();
      // Ended by the check's own time, or because the probe stops: nothing is known.
      const isCut = code === ownCodes.deadline && performance.now() - began < patience - 50;
      return isCut ? untried : code;
    } finally {
      deadline.unlisten(whole);
      own.settle();
    }
  };
}
