import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { pause } from '../../shared/base/async.ts';
import { newId } from '../../shared/base/crypto.ts';
import { refuseWrites } from '../support/databases.ts';
import { eventually, passed } from '../support/eventually.ts';
import {
  addHeartbeat,
  call,
  type Heartbeat,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  ping,
  pingsWritten,
  seenFrom,
  watch,
} from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { test as plain } from '../support/network-test.ts';
import { type ChildProgram, debianProgram, startChildProgram } from '../support/processes.ts';
import { freePort, hasBinaries } from '../support/services.ts';
import { type MortalServices, startMortalServices } from '../support/services-run.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/**
 * Two coordinators behind Caddy, which asks each at /readyz once a second, as docs/monitoring.md says.
 */

const caddy = await debianProgram('caddy', ['caddy']);

const test = plain
  .extend('relay', ({ network }) => network.startRelay('database'))
  /** Callers of a coordinator whose way to the database is the relay. */
  .extend('askers', async ({ network, relay }) => {
    const { url } = await network.startCoordinatorProcess({ DATABASE_URL: relay.url });
    await network.makeProbe('Europe');
    /** Given up long before any deadline of the database's own. */
    const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`${url}${path}`, { ...init, signal: AbortSignal.timeout(15_000) });
    const headers = {
      authorization: `Bearer ${network.house.owner.readWrite}`,
      'content-type': 'application/json',
    };
    const call = (init: RequestInit = {}) => ask('/api/v1/monitors', { ...init, headers });
    const hole = { type: 'https', target: 'https://example.org/' };
    return {
      ask,
      create: (name: string) => call({ method: 'POST', body: JSON.stringify({ ...hole, name }) }),
      list: () => call(),
    };
  });

/** A database whose disk is full answers every question and takes nothing. */
describe('while the database refuses writes', () => {
  let network: Network;
  let url: string;

  beforeAll(async () => {
    network = await createNetwork();
    ({ url } = await network.startCoordinator());
    await network.addProbes('Asia', 'Europe', 'North America');
  });
  afterAll(() => network.close());

  /**
   * Requests by the second in which they came, of so many turns of the monitor, each of which is
   * one request in its second.
   */
  const bySecond = async (target: Target, turns: number): Promise<number[]> => {
    const from = target.hits.length;
    const began = await eventually(() => target.hits[from]?.at, 20_000);
    await eventually(() => target.hits.some(({ at }) => at >= began + turns * 1_000), 60_000);
    const counts = Array.from({ length: turns }, () => 0);
    for (const { at } of target.hits.slice(from)) {
      const second = Math.floor((at - began) / 1_000);
      if (second < turns) counts[second] = (counts[second] ?? 0) + 1;
    }
    return counts;
  };

  const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);

  test('no probe is asked to recheck what could not be written: a failing target is checked at its turns alone', async () => {
    const { target, monitor } = await watch(network, 3);
    const takeAgain = await refuseWrites(network.sql);
    target.answer(broken);
    const counts = await bySecond(target, 15);
    // Each second has its turn; two may fall into one, and none into the next.
    expect(sum(counts)).toBeLessThanOrEqual(17);
    expect(await incidentsOf(network.sql, monitor)).toEqual([]);
    await takeAgain();
    const found = await incidentThat(network.sql, monitor, isConfirmed, 30_000);
    expect(Number(found.started_at)).toBeLessThan(target.hits.at(-1)?.at ?? 0);
    target.answer(fine);
    await incidentThat(network.sql, monitor, isResolved, 30_000);
  });

  test('rule 13: an outage that was written down before gets its turns and its samples, and in no second more', async () => {
    const { target, monitor } = await watch(network, 3);
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed);
    const takeAgain = await refuseWrites(network.sql);
    const counts = await bySecond(target, 15);
    // Its turns, a sample every five seconds, and those who are asked once more because nobody
    // knows what they said.
    expect(sum(counts)).toBeLessThanOrEqual(15 + 4 + 12);
    expect(Math.max(...counts.slice(5))).toBeLessThanOrEqual(4);
    await takeAgain();
    target.answer(fine);
    await incidentThat(network.sql, monitor, isResolved, 30_000);
  });

  test('rule 20: a /fail that was answered 200 leaves its incident, though the success after it is worked on first', async () => {
    const heartbeat = await addHeartbeat(network, {}, 3_600);
    await ping(url, heartbeat);
    await pingsWritten(network.sql, heartbeat.monitor, 1);
    await network.sql`create sequence tries`;
    // A while later it is taken, also where a slow machine brings both in one batch.
    await refuseWrites(network.sql, 'beats', "new.kind = 'fail' and nextval('tries') <= 5");
    expect((await call(url, `${heartbeat.token}/fail`)).status).toBe(200);
    expect((await call(url, heartbeat.token)).status).toBe(200);
    const found = await incidentThat(network.sql, heartbeat.monitor, isResolved, 20_000);
    const [, failed, made] = await pingsWritten(network.sql, heartbeat.monitor, 3);
    expect([found.started_at, found.confirmed_at, found.resolved_at].map(Number)).toEqual(
      [failed, failed, made].map((each) => Number(each?.at)),
    );
    expect(failed?.kind).toBe('fail');
  });
});

/**
 * A database behind a black hole: nothing is answered, nothing is closed, of new connections
 * neither.
 */
describe.concurrent('while the database never answers', () => {
  test('callers of the API get 503 and when to retry, however many ask; when it is back they are served', async ({
    network,
    relay,
    askers: { create, list },
  }) => {
    expect((await create('before')).status).toBe(201);
    relay.silence();
    // More than there are connections, one after the other, so that new ones are dialled meanwhile.
    const asked: Promise<Response>[] = [];
    for (let nth = 0; nth < 30; nth += 1) {
      asked.push(nth % 3 === 0 ? create(`during ${nth}`) : list());
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    for (const answer of await Promise.all(asked)) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(await answer.json()).toMatchObject({ error: { code: 'unavailable' } });
    }
    // Who comes anew is told at once, and nothing is left lying to be done later.
    expect((await create('afterwards')).status).toBe(503);
    relay.heal();
    await eventually(async () => (await list()).status === 200, 60_000);
    const names = await network.sql<{ name: string }[]>`select name from monitors`;
    expect(names.map(({ name }) => name)).toContain('before');
    expect(names.map(({ name }) => name)).not.toContain('afterwards');
  });

  test('users read it on a page, and health names the database', async ({
    relay,
    askers: { ask },
  }) => {
    expect((await ask('/sign-in')).status).toBe(200);
    relay.silence();
    const headers = { cookie: `svc_session=${'a'.repeat(43)}`, accept: 'text/html' };
    const [page, elsewhere, health] = await Promise.all([
      ask('/', { headers }),
      ask('/incidents', { headers }),
      ask('/health'),
    ]);
    for (const answer of [page, elsewhere]) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('content-type')).toMatch('text/html');
      expect(await answer.text()).toMatch('The database does not answer');
    }
    expect(health.status).toBe(503);
    expect(await health.json()).toMatchObject({ parts: { database: false } });
    expect((await ask('/', { headers })).status).toBe(503);
  });
});

describe('two coordinators behind a balancer', () => {
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
    const command = [
      caddy.file,
      'run',
      '--config',
      join(folder, 'Caddyfile'),
      '--adapter',
      'caddyfile',
    ] as const;
    balancer = await startChildProgram(
      command,
      { ...caddy.env, HOME: folder },
      async () => (await fetch(`${address}/livez`)).ok,
    );
    // Each coordinator has read the page and the key.
    for (const { url } of coordinators) {
      await eventually(
        async () => (await (await fetch(`${url}/status/shop`)).text()).includes('Everything is up'),
        60_000,
      );
      await ping(url, heartbeat);
    }
  });
  afterAll(async () => {
    balancer?.signal('SIGKILL');
    await network?.close();
    await mortal?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  /**
   * A page and a ping through the balancer, again and again; what was answered otherwise than well.
   */
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

  describe.runIf(isPossible)(
    'a balancer that asks /readyz refuses no ping and no status page',
    () => {
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
    },
  );
});

describe.concurrent('a public page', () => {
  /**
   * Readers who ask again and again, but leave the machine to others in between; what they were
   * answered with, by how often.
   */
  const readAll = (url: string, readers: number) => {
    const statuses = new Map<number, number>();
    let isOver = false;
    const reading = Array.from({ length: readers }, async () => {
      while (!isOver) {
        const { status, body } = await fetch(url);
        await body?.cancel();
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await pause(10);
      }
    });
    return async (): Promise<ReadonlyMap<number, number>> => {
      isOver = true;
      await Promise.all(reading);
      return statuses;
    };
  };

  test('a page that is read all the time shows what goes down and comes back, and is there while the database is not', async ({
    network,
    target,
    relay,
  }) => {
    const { url } = await network.startCoordinatorProcess({ DATABASE_URL: relay.url });
    await network.addProbes('Asia', 'Europe');
    const monitor = await network.addMonitor({
      target: target.url(),
      interval_s: 1,
      name: 'inner name',
    });
    const page = newId();
    await network.sql`insert into status_pages (id, organisation_id, name, slug) values (${page}, ${network.organisation}, 'Shop status', 'shop')`;
    await network.sql`insert into status_page_monitors (page_id, monitor_id, display_name, position) values (${page}, ${monitor}, 'Checkout', 0)`;
    await seenFrom(network.sql, monitor, 2);
    const text = async (): Promise<string> => (await fetch(`${url}/status/shop`)).text();
    await eventually(async () => (await text()).includes('Everything is up'), 60_000);
    const stop = readAll(`${url}/status/shop`, 4);
    target.answer(broken);
    await eventually(async () => (await text()).includes('Checkout is down'), 60_000);
    relay.cut();
    await eventually(
      async () => (await text()).includes('Newer data is not available right now.'),
      60_000,
    );
    target.answer(fine);
    relay.heal();
    await eventually(async () => (await text()).includes('Everything is up'), 60_000);
    const statuses = await stop();
    expect([...statuses.keys()]).toEqual([200]);
  });
});
