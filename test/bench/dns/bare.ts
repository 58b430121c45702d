/** The DNS check alone, as the probe has it, in a process of its own. A line of JSON on standard input says what to do; one on standard output what came of it. */
import { createInterface } from 'node:readline';
import { createDnsCheck } from '../../../probe/checks/dns.ts';
import { createUdpSockets } from '../../../probe/checks/dns-sockets.ts';
import { createGuard } from '../../../probe/checks/guard.ts';
import { assignmentOf } from '../../probe/support/assignment.ts';
import { keepChecking, performOnce } from '../keep-checking.ts';

type Order = {
  readonly resolver: string;
  readonly name: string;
  readonly expected: readonly string[];
  readonly in_flight: number;
  readonly ms: number;
};

const sockets = createUdpSockets();
const check = createDnsCheck({ sockets });
const guard = createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] });
const perform = ({ resolver, name, expected, ...times }: Order): Promise<object> => {
  const config = { resolver, expected_values: expected, match: 'exact' };
  const assignment = assignmentOf(name, { kind: 'dns', timeout_ms: 10_000, config });
  return keepChecking(times, performOnce(check, guard, assignment));
};

for await (const line of createInterface({ input: process.stdin })) {
  const order: Order = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(await perform(order))}\n`);
}
sockets.close();
