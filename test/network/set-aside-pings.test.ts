import { afterEach, beforeEach, expect, test } from 'vitest';
import { retrySetAside, setAside } from '../../coordinator/engine/queries.ts';
import { newId } from '../../shared/base/crypto.ts';
import type { PingMessage } from '../../shared/bus/messages.ts';
import { partitionOf, subjects } from '../../shared/bus/subjects.ts';
import { createTcpProxy, type TcpProxy } from '../support/connections.ts';
import { eventually, passed } from '../support/eventually.ts';
import { addHeartbeat, type Heartbeat, incidentThat, isConfirmed, isResolved, ping, pingsWritten } from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';

/** Pings that could not be worked on and lie aside: the operator has them worked on again, and they come out as if they had only been late. */

let network: Network;
let relay: TcpProxy;
let address: string;

beforeEach(async () => {
  network = await createNetwork({
    busVia: async (url) => {
      relay = await createTcpProxy(url);
      return relay.url;
    },
  });
  address = (await network.startCoordinator()).url;
});
afterEach(async () => {
  relay.heal();
  await network.close();
  await relay.close();
});

/** As the coordinator puts aside what it took from the bus. */
const putAside = async ({ monitor, key }: Heartbeat, at: number): Promise<void> => {
  const message: PingMessage = {
    ...{ v: 1, id: newId(), key, kind: 'success', exit_code: null, at, rid: null, method: 'POST', body: 'kept', ear: 'europe' },
  };
  const subject = subjects.ping('Europe', partitionOf(monitor), key);
  await setAside(network.sql, { subject, reason: 'the disk was full', data: Buffer.from(JSON.stringify(message)) });
};
const retry = (): Promise<number[]> => network.sql.begin((transaction) => retrySetAside(transaction, null));
const untilTaken = () => eventually(async () => (await network.sql`select 1 from set_aside`).length === 0);

test('a ping that is retried is written once, with its original time, and closes what had opened before it', async () => {
  const heartbeat = await addHeartbeat(network, {}, 3_600);
  await ping(address, heartbeat, '/fail');
  const down = await incidentThat(network.sql, heartbeat.monitor, isConfirmed);
  const at = Number(down.started_at) + 1;
  await putAside(heartbeat, at);
  // Asked for twice in the same moment, as by two operators.
  const asked = await Promise.all([retry(), retry()]);
  expect(asked.flat()).toHaveLength(1);
  await untilTaken();
  const closed = await incidentThat(network.sql, heartbeat.monitor, isResolved);
  expect([closed.id, Number(closed.resolved_at)]).toEqual([down.id, at]);
  // One more tells that nothing else was on its way.
  await ping(address, heartbeat);
  const written = await pingsWritten(network.sql, heartbeat.monitor, 3);
  expect(written.map(({ kind, body }) => [kind, body])).toEqual([
    ['fail', ''],
    ['success', 'kept'],
    ['success', ''],
  ]);
  expect(Number(written[1]?.at)).toBe(at);
});

test('a ping that is retried while the bus is away stays aside, and is taken when the bus is back', async () => {
  const heartbeat = await addHeartbeat(network, {}, 3_600);
  await ping(address, heartbeat);
  await pingsWritten(network.sql, heartbeat.monitor, 1);
  relay.cut();
  const at = Date.now();
  await putAside(heartbeat, at);
  expect(await retry()).toHaveLength(1);
  // The coordinator looks at what it is asked for at once, and again each second.
  await passed(2_500);
  expect((await network.sql`select 1 from set_aside where retry_asked_at is not null`).length).toBe(1);
  relay.heal();
  await untilTaken();
  const written = await pingsWritten(network.sql, heartbeat.monitor, 2);
  expect(written.map((row) => Number(row.at))).toContain(at);
  expect(written).toHaveLength(2);
});

test('what is no ping at all is refused once more and not taken for one', async () => {
  const heartbeat = await addHeartbeat(network, {}, 3_600);
  const subject = subjects.ping('Europe', partitionOf(heartbeat.monitor), heartbeat.key);
  await setAside(network.sql, { subject, reason: 'unreadable', data: Buffer.from('{"v":1') });
  await retry();
  await untilTaken();
  await eventually(async () => (await network.sql`select 1 from refused where reason = 'malformed'`).length > 0);
  await ping(address, heartbeat);
  expect(await pingsWritten(network.sql, heartbeat.monitor, 1)).toHaveLength(1);
});
