import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createDirectory } from '../../../coordinator/probes/directory.ts';
import { watchConnections } from '../../../coordinator/probes/duplicates.ts';
import { systemClock } from '../../../shared/base/time.ts';
import type { Message } from '../../../shared/bus/messages.ts';
import { connectBus } from '../../../shared/bus/nats.ts';
import { createNetwork, type Network, testLog } from '../../support/network.ts';
import { speakAs } from '../../support/probes.ts';

let network: Network;
beforeAll(async () => {
  network = await createNetwork();
});
afterAll(() => network.close());

test('a server that could not be asked who is connected to it is asked again when it next says that it is there', async () => {
  const log = testLog();
  const encode = (content: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(content));
  const heard = new Map<string, (message: Message) => unknown>();
  const said = (subject: string, content: unknown): Message => ({
    ...{ subject, data: encode(content), header: () => undefined, respond: () => false, reply: undefined },
  });
  let refusals = 1;
  const asked: string[] = [];
  const displacer = await watchConnections({
    ...{ account: 'A', clock: systemClock, log, isLeader: () => false, onTwice: () => undefined },
    directory: await createDirectory({ sql: network.sql, log }),
    system: {
      subscribe: (subject, handle) => {
        heard.set(subject, handle);
        return { stop: () => undefined };
      },
      request: async (subject) => {
        asked.push(subject);
        if (!subject.includes('.SERVER.')) return said(subject, { server: { id: 'one' }, data: { connections: [] } });
        refusals -= 1;
        if (refusals >= 0) throw new Error('no answer');
        return said(subject, { server: { id: 'two' }, data: { connections: [{ cid: 7, authorized_user: 'U', ip: '192.0.2.7' }] } });
      },
    },
  });
  const isThere = async (server: string): Promise<void> => {
    await heard.get('$SYS.SERVER.*.STATSZ')?.(said(`$SYS.SERVER.${server}.STATSZ`, {}));
  };
  await isThere('two');
  expect(displacer.addressOf('U')).toBeUndefined();
  await isThere('two');
  expect(displacer.addressOf('U')).toBe('192.0.2.7');
  const before = asked.length;
  await isThere('one');
  await isThere('two');
  expect(asked.length).toBe(before);
  displacer.stop();
});

const [major = 0, minor = 0] = inject('services').nats.version;

test.skipIf(major === 2 && minor < 10)(
  'a newer connection displaces the older also when nobody had read anew since the probe was made',
  async () => {
    const log = testLog();
    // Read before the probe is made, and told of nothing: a coordinator whose notification is still on its way.
    const directory = await createDirectory({ sql: network.sql, log });
    const { url, systemCredentials: credentials, account } = network.account;
    const system = await connectBus({ url, credentials, name: 'test of the displacer', log });
    const displacer = await watchConnections({
      ...{ system, account, clock: systemClock, log, directory },
      isLeader: () => true,
      onTwice: () => undefined,
    });
    await system.flush();
    const made = await network.makeProbe('Europe');
    expect(directory.byId(made.id)).toBeUndefined();
    const older = await speakAs(made);
    const gone = Promise.withResolvers<void>();
    older.bus.onStatus((status) => {
      if (status === 'disconnected') gone.resolve();
    });
    const newer = await speakAs(made);
    await gone.promise;
    expect(newer.bus.isConnected()).toBe(true);
    displacer.stop();
    await older.close();
    await newer.close();
    await system.close();
  },
  60_000,
);
