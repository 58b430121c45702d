/**
 * A check alone, as the probe has it, in a process of its own. A line of JSON on standard
 * input says what to do; one on standard output what came of it.
 */

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createLookup, watchFamilies } from '../../../probe/checks/connection/lookup.ts';
import { createTrust } from '../../../probe/checks/connection/trust.ts';
import { createUdpSockets } from '../../../probe/checks/dns/sockets.ts';
import { createGuard } from '../../../probe/checks/guard.ts';
import { createHttpsCheck } from '../../../probe/checks/https/perform.ts';
import { createTcpCheck } from '../../../probe/checks/tcp/perform.ts';
import { createTlsCheck } from '../../../probe/checks/tls/perform.ts';
import { createWebsocketCheck } from '../../../probe/checks/websocket/perform.ts';
import type { Config } from '../../../shared/checks/assignment.ts';
import { assignmentOf } from '../../probe/support/checkers.ts';
import { keepChecking, type Perform, performOnce } from '../keep-checking.ts';

export type Order = {
  readonly kind: 'https' | 'tcp' | 'tls' | 'websocket';
  readonly target: string;
  readonly config?: Config;
  readonly in_flight: number;
  readonly ms: number;
  readonly once: boolean;
};

const [authority = ''] = process.argv.slice(2);
const families = watchFamilies();
const dependencies = {
  resolver: { works: async () => true },
  lookup: createLookup({ families, sockets: createUdpSockets() }),
  families,
  trust: createTrust([readFileSync(authority, 'utf8')]),
};
const checks = {
  https: createHttpsCheck(dependencies),
  tcp: createTcpCheck(dependencies),
  tls: createTlsCheck(dependencies),
  websocket: createWebsocketCheck(dependencies),
};
const guard = createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] });
const performing = ({ kind, target, config = {} }: Order, timeout_ms: number): Perform =>
  performOnce(checks[kind], guard, assignmentOf(target, { kind, config, timeout_ms }));

/**
 * So many checks at once, all of them waiting for an answer that never comes: what memory they
 * hold.
 */
const holdOpen = async (order: Order): Promise<object> => {
  const { in_flight, ms } = order;
  const collect = globalThis.gc ?? (() => undefined);
  collect();
  const before = process.memoryUsage.rss();
  const all = Array.from({ length: in_flight }, () => new Promise(performing(order, ms)));
  await new Promise((resolve) => setTimeout(resolve, ms * 0.9));
  collect();
  const during = process.memoryUsage.rss();
  const open = process.getActiveResourcesInfo().filter((one) => one === 'TCPSocketWrap').length;
  await Promise.all(all);
  return { before, during, open };
};

for await (const line of createInterface({ input: process.stdin })) {
  const order: Order = JSON.parse(line);
  process.stdout.write(
    `${JSON.stringify(await (order.once ? holdOpen(order) : keepChecking(order, performing(order, 10_000))))}\n`,
  );
}
