/**
 * A ping receiver alone, in a process of its own: `ours` takes pings as a probe does, on a real
 * bus; `plain` is an HTTP server that answers OK and does nothing. Prints its address, then for
 * each line on standard input what CPU it has used.
 */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startPingReceiver } from '../../../probe/pings/receiver.ts';
import { createLog } from '../../../shared/base/log.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { connectBus } from '../../../shared/bus/nats.ts';
import { openPingSpool } from '../../../shared/bus/ping-spool.ts';
import { createPingBus, createPingIntake, createPingRecords } from '../../../shared/bus/pings.ts';
import { pingFingerprint } from '../../../shared/checks/heartbeat/config.ts';

type Order = {
  readonly url: string;
  readonly credentials: string;
  readonly folder: string;
  readonly organisation: string;
  readonly heartbeats: readonly { readonly token: string; readonly monitor: string }[];
};

const log = createLog({ name: 'ear', level: 'error' });

const ours = async ({
  url,
  credentials,
  folder,
  organisation,
  heartbeats,
}: Order): Promise<string> => {
  const bus = await connectBus({ url, credentials, name: 'ear', log });
  const pingBus = createPingBus(bus, createPingRecords(bus), 'Europe');
  const spool = await openPingSpool(join(folder, 'beats.jsonl'), log);
  const keys = new Map(
    heartbeats.map(({ token, monitor }) => [
      pingFingerprint(token),
      { organisation, monitor, until: null },
    ]),
  );
  const intake = createPingIntake({
    pingBus: () => pingBus,
    spool,
    findKey: (key) => keys.get(key),
    ear: 'bench',
    clock: systemClock,
    log,
  });
  return (await startPingReceiver({ host: '127.0.0.1', port: 0, take: intake.take, log })).address;
};

const plain = (): Promise<string> =>
  new Promise((resolve) => {
    const server = createServer((_request, response) => response.end('OK'));
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(
        `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
      );
    });
  });

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const first = await lines.next();
const order: Order | null = JSON.parse(String(first.value));
process.stdout.write(`${JSON.stringify(order ? await ours(order) : await plain())}\n`);
for (;;) {
  const line = await lines.next();
  if (line.done) process.exit(0);
  const { user, system } = process.cpuUsage();
  process.stdout.write(`${JSON.stringify((user + system) / 1_000)}\n`);
}
