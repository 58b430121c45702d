/**
 * The DNS check with what the runner does around it, from a monitor's turn to its report: as many monitors as are to be in flight, each with its next turn
 * as soon as the last was reported. The schedule, the spool and the bus are left out.
 */

import { createReachability } from '../../../probe/checking/checking-reachability.ts';
import { createRunner } from '../../../probe/checking/checking-runner.ts';
import { createDnsCheck } from '../../../probe/checks/check-dns.ts';
import { createGuard } from '../../../probe/checks/check-guard.ts';
import { createUdpSockets } from '../../../probe/checks/dns-sockets.ts';
import { systemClock } from '../../../shared/base/clock.ts';
import { createLog } from '../../../shared/base/log.ts';
import type { Assignment } from '../../../shared/checks/checks-assignment.ts';
import type { Outcome } from '../../../shared/checks/checks-result.ts';
import { assignmentOf } from '../../probe/support/probe-support-assignment.ts';
import { keepChecking } from '../bench-keep-checking.ts';
import { answerOrders } from './bench-dns-order.ts';

const sockets = createUdpSockets();
/** Who waits for the report of a monitor. */
const waiting = new Map<string, (outcome: Outcome) => void>();
const runner = createRunner({
  checks: { dns: createDnsCheck({ sockets }) },
  concurrency: 1_000,
  clock: systemClock,
  guard: createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] }),
  identity: () => ({ name: 'bench', continent: 'Europe', base_url: 'https://antipode.example', version: '0' }),
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
