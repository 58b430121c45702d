import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { createProbe } from '../../probe/app.ts';
import { readConfig } from '../../probe/config.ts';
import { type OwnBus, startOwnBus } from '../support/buses.ts';
import { mint, mintAuthority } from '../support/certificates.ts';
import { createTcpProxy, type TcpProxy } from '../support/connections.ts';
import { eventually } from '../support/eventually.ts';
import { seenFrom } from '../support/monitors.ts';
import type { CoordinatorProcess } from '../support/network.ts';
import { createNetwork, type Network, testLog } from '../support/network.ts';
import { startChildProgram } from '../support/processes.ts';
import { hasBinaries } from '../support/services.ts';

/** A whole network on a bus with TLS, which takes clients without it, too: whether there is TLS is for us alone to see to. */

const main = join(import.meta.dirname, '../../coordinator/main.ts');
const authority = mintAuthority('an authority of our own');
const ca = authority.certificate;
let own: OwnBus;
let network: Network;
let relay: TcpProxy;
let secured: string;
let said = '';

beforeAll(async () => {
  if (!hasBinaries()) return;
  own = await startOwnBus({ tls: { shows: mint({ names: ['127.0.0.1'], issuer: authority }), way: 'optional' } });
  // Whoever goes through it is told that there is no TLS.
  relay = await createTcpProxy(own.nats.url, {
    overhear: (data) => {
      said += data.toString('latin1');
    },
    rewrite: (data) => Buffer.from(data.toString('latin1').replace('"tls_available":true', '"tls_available":null'), 'latin1'),
  });
  // What the test itself does on the bus goes without.
  const plain = await createTcpProxy(own.nats.url, {
    rewrite: (data) => Buffer.from(data.toString('latin1').replace('"tls_available":true', '"tls_available":null'), 'latin1'),
  });
  network = await createNetwork({ services: { ...inject('services'), nats: { ...own.nats, url: plain.url } } });
  const close = network.close;
  network = { ...network, close: () => close().finally(plain.close) };
  secured = own.nats.url.replace('nats:', 'tls:');
});
afterAll(async () => {
  await network?.close();
  await relay?.close();
  await own?.stop();
});

const healthShape = z.object({ parts: z.object({ probes: z.array(z.object({ name: z.string(), present: z.boolean() })) }) });

const presentAt = async ({ url }: CoordinatorProcess): Promise<string[]> =>
  healthShape.parse(await (await fetch(`${url}/health`)).json()).parts.probes.flatMap(({ name, present }) => (present ? [name] : []));

describe.runIf(hasBinaries())('coordinators and probes on a bus at tls://', () => {
  test('check and report; a probe whose way takes TLS away says nothing to the bus, and nobody counts on it', async () => {
    const coordinator = await network.startCoordinatorProcess({ NATS_URL: secured, NATS_CA: ca });
    const target = await network.startTarget();
    await network.startProbe(await network.makeProbe('Europe', 'safe'), { url: secured, environment: { PROBE_NATS_CA: ca } });
    const cheated = await network.makeProbe('Asia', 'cheated');
    await network.startProbe(cheated, { url: relay.through('tls://bus'), environment: { PROBE_NATS_CA: ca }, isAlone: true });
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 1);
    await eventually(() => relay.calls() > 3);
    expect(await presentAt(coordinator)).toEqual(['safe']);
    expect(said).toBe('');
  });

  test('and a probe goes there that knows their authority from its joining alone', async () => {
    const coordinator = await network.startCoordinatorProcess({ NATS_URL: secured, NATS_CA: ca });
    const { credentials, folder } = await network.makeProbe('Africa', 'joined');
    const probe = await createProbe(
      { ...readConfig({ PROBE_CREDENTIALS: credentials, PROBE_DATA_DIR: folder, PROBE_NATS_URL: secured }), authorities: ca },
      { log: testLog(), handOverMs: 0 },
    );
    await eventually(async () => (await presentAt(coordinator)).includes('joined'), 20_000).finally(probe.close);
  });

  test('a coordinator whose way takes TLS away does not come to work, and says nothing to the bus', async () => {
    const dialled = relay.calls();
    const environment = { ...network.environment, NATS_URL: relay.through('tls://bus'), NATS_CA: ca };
    const program = await startChildProgram([process.execPath, main], environment, async () => relay.calls() > dialled + 3);
    program.signal('SIGKILL');
    await program.exited;
    expect(said).toBe('');
  });
});
