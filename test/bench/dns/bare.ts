/** The DNS check alone, as the probe has it, in a process of its own. */
import { createDnsCheck } from '../../../probe/checks/dns/perform.ts';
import { createUdpSockets } from '../../../probe/checks/dns/sockets.ts';
import { createGuard } from '../../../probe/checks/guard.ts';
import { assignmentOf } from '../../probe/support/checkers.ts';
import { keepChecking, performOnce } from '../keep-checking.ts';
import { answerOrders } from './order.ts';

const sockets = createUdpSockets();
const check = createDnsCheck({ sockets });
const guard = createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] });

await answerOrders(({ resolver, name, expected, ...times }) => {
  const config = { resolver, expected_values: expected, match: 'exact' };
  return keepChecking(
    times,
    performOnce(check, guard, assignmentOf(name, { kind: 'dns', timeout_ms: 10_000, config })),
  );
});
sockets.close();
