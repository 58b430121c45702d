import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createDirectory } from '../../../coordinator/probes/directory.ts';
import { watchConnections } from '../../../coordinator/probes/displacer.ts';
import { systemClock } from '../../../shared/base/clock.ts';
import { connectBus } from '../../../shared/bus/nats.ts';
import { createNetwork, type Network, testLog } from '../../support/network.ts';
import { speakAs } from '../../support/voice.ts';

let network: Network;
beforeAll(async () => {
  network = await createNetwork();
});
afterAll(() => network.close());

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
