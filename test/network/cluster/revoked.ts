import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { dialOnce } from '../../../shared/bus/dialling.ts';
import { parseProbeCredentials } from '../../../shared/bus/identity.ts';
import { type OwnBus, startOwnBus } from '../../support/buses.ts';
import { eventually } from '../../support/eventually.ts';
import { untilWhole } from '../../support/monitors.ts';
import { createNetwork, type Network } from '../../support/network.ts';
import { hasBinaries } from '../../support/services.ts';

/** A probe is revoked while one of three servers is away, which so does not hear of it. */

let own: OwnBus;
let network: Network;

beforeAll(async () => {
  if (!hasBinaries()) return;
  own = await startOwnBus({ nodes: 3 });
  network = await createNetwork({ services: { ...inject('services'), nats: own.nats } });
  await network.startCoordinatorProcess({ NATS_REPLICAS: '3' });
});
afterAll(async () => {
  await network?.close();
  await own?.stop();
});

/** What the server with this number says to whoever comes with these credentials. */
const answerOf = async (index: number, credentials: string): Promise<string> => {
  try {
    const bus = await dialOnce(
      { url: `nats://127.0.0.1:${own.nodes[index]?.port}`, credentials },
      { reconnect: false },
    );
    await bus.close();
    return 'come in';
  } catch (error) {
    return String(error);
  }
};

describe.runIf(hasBinaries())('a probe that was revoked while a server was away', () => {
  test('is let in by none, within half a minute of its return by that one either', async () => {
    const made = await network.makeProbe('Europe');
    const { nats_credentials } = parseProbeCredentials(made.credentials);
    await untilWhole(network);
    for (const index of [0, 1, 2]) expect(await answerOf(index, nats_credentials)).toBe('come in');
    await own.nodes[1]?.kill();
    await network.revokeProbe(made.id);
    const isRefusedBy = async (index: number) =>
      /Authorization/.test(await answerOf(index, nats_credentials));
    for (const index of [0, 2]) await eventually(() => isRefusedBy(index));
    await own.nodes[1]?.start();
    expect(await eventually(() => isRefusedBy(1))).toBe(true);
  });
});
