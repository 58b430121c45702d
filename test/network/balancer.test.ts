import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/base/crypto.ts';
import { type ChildProgram, startChildProgram } from '../support/child-program.ts';
import { debianProgram } from '../support/debian.ts';
import { eventually, passed } from '../support/eventually.ts';
import { addHeartbeat, type Heartbeat, ping, pingsWritten } from '../support/heartbeats.ts';
import { type MortalServices, startMortalServices } from '../support/mortal-services.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { freePort, hasBinaries } from '../support/services.ts';

/** Two coordinators behind Caddy, which asks each at /readyz once a second, as deploy/PRODUCTION.md says. */

const caddy = await debianProgram('caddy', ['caddy']);
const awayMs = 15_000;

let mortal: MortalServices;
let network: Network;
let folder: string;
let balancer: ChildProgram;
let address: string;
let heartbeat: Heartbeat;

const isPossible = caddy !== undefined && hasBinaries();

beforeAll(async () => {
  if (!isPossible) return;
  mortal = await startMortalServices();
  network = await createNetwork({ services: mortal.services });
  folder = await mkdtemp(join(tmpdir(), 'antipode-balancer-'));
  const coordinators = [
    await network.startCoordinatorProcess({ DATA_DIR: join(folder, 'one') }),
    await network.startCoordinatorProcess({ DATA_DIR: join(folder, 'two') }),
  ];
  await network.addProbe('Europe');
  await network.addProbe('Asia');
  const target = await network.startTarget();
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  heartbeat = await addHeartbeat(network, {}, 3_600);
  const page = newId();
  await network.sql`insert into status_pages (id, organisation_id, name, slug) values (${page}, ${network.organisation}, 'Shop status', 'shop')`;
  await network.sql`insert into status_page_monitors (page_id, monitor_id, display_name, position) values (${page}, ${monitor}, 'Checkout', 0)`;
  address = `http://127.0.0.1:${await freePort()}`;
  const upstreams = coordinators.map(({ url }) => new URL(url).host).join(' ');
  const health = 'health_uri /readyz\n    health_interval 1s\n    health_timeout 2s';
  await writeFile(
    join(folder, 'Caddyfile'),
    `{\n  admin off\n}\n${address} {\n  reverse_proxy ${upstreams} {\n    lb_policy round_robin\n    ${health}\n  }\n}\n`,
  );
  const command = [caddy.file, 'run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'] as const;
  balancer = await startChildProgram(command, { ...caddy.env, HOME: folder }, async () => (await fetch(`${address}/livez`)).ok);
  // Each coordinator has read the page and the key.
  for (const { url } of coordinators) {
    await eventually(async () => (await (await fetch(`${url}/status/shop`)).text()).includes('Everything is up.'), 60_000);
    await ping(url, heartbeat);
  }
});
afterAll(async () => {
  balancer?.signal('SIGKILL');
  await network?.close();
  await mortal?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** A page and a ping through the balancer, again and again; what was answered otherwise than well. */
const askOnAndOn = () => {
  const refused: string[] = [];
  let [asked, isOver] = [0, false];
  const run = async (path: string): Promise<void> => {
    for (; !isOver; await passed(100)) {
      const { status } = await fetch(`${address}${path}`);
      asked += 1;
      if (status !== 200) refused.push(`${path}: ${status}`);
    }
  };
  const running = Promise.all(['/status/shop', `/beat/${heartbeat.token}`].map(run));
  return async (): Promise<{ readonly refused: readonly string[]; readonly asked: number }> => {
    isOver = true;
    await running;
    return { refused, asked };
  };
};

describe.runIf(isPossible)('a balancer that asks /readyz refuses no ping and no status page', () => {
  test.each([
    ['the bus is', () => mortal.nats],
    ['the database is', () => mortal.postgres],
  ])(`while %s away for ${awayMs / 1_000} s`, async (_, part) => {
    const stop = askOnAndOn();
    await part().kill();
    await passed(awayMs);
    await part().start();
    await eventually(async () => (await fetch(`${address}/health`)).ok, 60_000);
    const { refused, asked } = await stop();
    expect(refused).toEqual([]);
    expect(asked).toBeGreaterThan(100);
  });

  test('and what was pinged meanwhile is written', async () => {
    // A monitor's last hundred pings are kept.
    await pingsWritten(network.sql, heartbeat.monitor, 100);
  });
});
