/**
 * The DNS check with what the runner does around it, from a monitor's turn to its report: as many
 * monitors as are to be in flight, each with its next turn as soon as the last was reported. The
 * schedule, the spool and the bus are left out.
 */

import { createDnsCheck } from '../../../probe/checks/dns/perform.ts';
import { createUdpSockets } from '../../../probe/checks/dns/sockets.ts';
import { createGuard } from '../../../probe/checks/guard.ts';
import { createRunner } from '../../../probe/schedule/runner.ts';
import { createReachability } from '../../../probe/schedule/self-check.ts';
import { createLog } from '../../../shared/base/log.ts';
import { systemClock } from '../../../shared/base/time.ts';
import type { Assignment } from '../../../shared/checks/assignment.ts';
import type { Outcome } from '../../../shared/checks/result.ts';
import { assignmentOf } from '../../probe/support/checkers.ts';
import { keepChecking } from '../keep-checking.ts';
import { answerOrders } from './order.ts';

const sockets = createUdpSockets();
/** Who waits for the report of a monitor. */
const waiting = new Map<string, (outcome: Outcome) => void>();
const runner = createRunner({
  checks: { dns: createDnsCheck({ sockets }) },
  concurrency: 1_000,
  clock: systemClock,
  guard: createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] }),
  identity: () => ({
    name: 'bench',
    continent: 'Europe',
    base_url: 'https://antipode.example',
    version: '0',
  }),
  reachability: createReachability({ anchors: () => [], busRoundTrip: () => Promise.resolve() }),
  unseal: (assignment) => assignment,
  report: ({ monitor, outcome }) => waiting.get(monitor)?.(outcome),
  log: createLog({ name: 'bench', level: 'error' }, process.stderr),
});

await answerOrders(({ resolver, name, expected, ...times }) => {
  const config = { resolver, expected_values: expected, match: 'exact' };
  const monitors: Assignment[] = Array.from({ length: times.in_flight }, () =>
    assignmentOf(name, { kind: 'dns', timeout_ms: 10_000, config }),
  );
  return keepChecking(times, (ended) => {
    const assignment = monitors.pop();
    if (!assignment) throw new Error('more in flight than there are monitors');
    waiting.set(assignment.monitor, (outcome) => {
      monitors.push(assignment);
      ended(outcome);
    });
    runner.turn(assignment, systemClock.now());
  });
});
await runner.close();
sockets.close();
