/**
 * The https check alone, as the probe has it, in a process of its own. A line of JSON on standard
 * input says what to do; one on standard output what came of it.
 */

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createLookup, watchFamilies } from '../../../probe/checks/connection/lookup.ts';
import { createTrust } from '../../../probe/checks/connection/trust.ts';
import { createUdpSockets } from '../../../probe/checks/dns/sockets.ts';
import { createGuard } from '../../../probe/checks/guard.ts';
import { createHttpsCheck } from '../../../probe/checks/https/perform.ts';
import type { Assignment } from '../../../shared/checks/assignment.ts';
import { assignmentOf } from '../../probe/support/checkers.ts';
import { keepChecking, type Perform, performOnce } from '../keep-checking.ts';

type Order = {
  readonly url: string;
  readonly in_flight: number;
  readonly ms: number;
  readonly once: boolean;
};

const [authority = ''] = process.argv.slice(2);
const families = watchFamilies();
const check = createHttpsCheck({
  resolver: { works: async () => true },
  lookup: createLookup({ families, sockets: createUdpSockets() }),
  families,
  trust: createTrust([readFileSync(authority, 'utf8')]),
});
const guard = createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] });
const perform = (assignment: Assignment): Perform => performOnce(check, guard, assignment);

/**
 * So many checks at once, all of them waiting for an answer that never comes: what memory they
 * hold.
 */
const holdOpen = async ({ url, in_flight, ms }: Order): Promise<object> => {
  const collect = globalThis.gc ?? (() => undefined);
  collect();
  const before = process.memoryUsage.rss();
  const all = Array.from(
    { length: in_flight },
    () => new Promise(perform(assignmentOf(url, { timeout_ms: ms }))),
  );
  await new Promise((resolve) => setTimeout(resolve, ms * 0.9));
  collect();
  const during = process.memoryUsage.rss();
  const open = process.getActiveResourcesInfo().filter((one) => one === 'TCPSocketWrap').length;
  await Promise.all(all);
  return { before, during, open };
};

for await (const line of createInterface({ input: process.stdin })) {
  const order: Order = JSON.parse(line);
  const assigned = assignmentOf(order.url, { timeout_ms: 10_000 });
  process.stdout.write(
    `${JSON.stringify(await (order.once ? holdOpen(order) : keepChecking(order, perform(assigned))))}\n`,
  );
}
