import { isIP } from 'node:net';
import { expect } from 'vitest';
import { createGuard } from '../../../probe/checks/guard.ts';
import type { CheckContext } from '../../../probe/checks/types.ts';
import { createRunner, type Runner } from '../../../probe/schedule/runner.ts';
import { createReachability } from '../../../probe/schedule/self-check.ts';
import type { Assignment } from '../../../shared/checks/assignment.ts';
import { noPhases, type Result, type Verdict } from '../../../shared/checks/result.ts';
import { silentLog } from './bus-of-probe.ts';

/** A runner whose checks end when the test says so, by a clock that is moved by hand. */
export type Started = {
  readonly context: CheckContext;
  readonly end: (verdict?: Partial<Verdict>) => void;
  readonly fail: (error: Error) => void;
};

export type HandRunner = {
  readonly runner: Runner;
  /** Checks in the order in which they began. */
  readonly started: Started[];
  readonly reported: { readonly result: Omit<Result, 'seq'>; readonly urgent: boolean }[];
  readonly clock: { at: number };
  /** Monitors that are not there any more. */
  readonly gone: Set<string>;
  /** Whether anything besides the targets can be reached. */
  isReachable: boolean;
  readonly turn: (assignment: Assignment) => void;
  /** Settle when so many checks have begun, or have been reported. */
  readonly untilStarted: (count: number) => Promise<void>;
  readonly untilReported: (count: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

export const good: Verdict = { outcome: 'ok', cause: null, phases: null, evidence: { seen: 'body' } };
export const down: Verdict = {
  outcome: 'fail',
  cause: { class: 'connection_refused', params: {} },
  phases: noPhases,
  evidence: { seen: 'reset' },
};
export const badStatus: Verdict = { ...down, cause: { class: 'unexpected_status', params: { status: 500, expected: '2xx' } } };

const patience = { timeout: 40_000, interval: 5 };

export const startHandRunner = (concurrency = 40): HandRunner => {
  const started: Started[] = [];
  const reported: HandRunner['reported'] = [];
  const gone = new Set<string>();
  const clock = { at: 1_000_000, now: () => clock.at };
  const world = { isReachable: true };
  const runner = createRunner({
    checks: {
      https: (context) =>
        new Promise((resolve, reject) => {
          const { hostname } = new URL(context.assignment.target);
          context.guard.allows(isIP(hostname) === 0 ? '9.9.9.9' : hostname, 443);
          started.push({ context, end: (verdict) => resolve({ ...good, ...verdict }), fail: reject });
          context.deadline.listen({ expire: () => resolve({ ...down, cause: { class: 'timed_out', params: {} } }) });
        }),
    },
    concurrency,
    clock,
    guard: createGuard({ allow: [], bus: () => [], own: () => [] }),
    identity: () => ({ name: 'eu-1', continent: 'Europe', base_url: '', version: '1' }),
    reachability: createReachability({
      anchors: () => [],
      busRoundTrip: () => (world.isReachable ? Promise.resolve() : Promise.reject(new Error('away'))),
    }),
    unseal: (assignment) => {
      if (assignment.sealed !== 'right') throw new Error('no key');
      return { ...assignment, config: { ...assignment.config, bearer_token: 'open' } };
    },
    report: (result, urgent) => reported.push({ result, urgent }),
    isCurrent: ({ monitor }) => !gone.has(monitor),
    log: silentLog,
  });
  return Object.assign(world, {
    runner,
    started,
    reported,
    clock,
    gone,
    turn: (assignment: Assignment) => runner.turn(assignment, clock.at - 50),
    untilStarted: (count: number) => expect.poll(() => started.length, patience).toBe(count),
    untilReported: (count: number) => expect.poll(() => reported.length, patience).toBe(count),
    close: async () => {
      for (const { end } of started) end();
      await runner.close();
    },
  });
};
