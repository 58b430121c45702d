import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CoordinatorProcess } from '../support/coordinator-process.ts';
import { eventually } from '../support/eventually.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** A database behind a black hole: nothing is answered, nothing is closed, of new connections neither. */

let network: Network;
let relay: TcpProxy;
let coordinator: CoordinatorProcess;

beforeEach(async () => {
  network = await createNetwork();
  relay = await createTcpProxy(network.database.url);
  coordinator = await network.startCoordinatorProcess({ DATABASE_URL: relay.url });
  await network.makeProbe('Europe');
});
afterEach(async () => {
  await network.close();
  await relay.close();
});

const hole = { type: 'https', target: 'https://example.org/', name: 'hole' };

/** Given up long before any deadline of the database's own. */
const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${coordinator.url}${path}`, { ...init, signal: AbortSignal.timeout(15_000) });

const asOwner = (): Record<string, string> => ({
  authorization: `Bearer ${network.house.owner.readWrite}`,
  'content-type': 'application/json',
});

const create = (name: string): Promise<Response> =>
  ask('/api/v1/monitors', { method: 'POST', headers: asOwner(), body: JSON.stringify({ ...hole, name }) });

const list = (): Promise<Response> => ask('/api/v1/monitors', { headers: asOwner() });

describe('while the database says nothing at all', () => {
  test('callers of the API are told so, with 503 and when to come again, however many ask; when it is back they are served', async () => {
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

  test('people are told so on a page, and health says that the database is what is away', async () => {
    expect((await ask('/sign-in')).status).toBe(200);
    relay.silence();
    const headers = { cookie: `svc_session=${'a'.repeat(43)}`, accept: 'text/html' };
    const [page, elsewhere, health] = await Promise.all([ask('/', { headers }), ask('/incidents', { headers }), ask('/health')]);
    for (const answer of [page, elsewhere]) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('content-type')).toMatch('text/html');
      expect(await answer.text()).toMatch('The database does not answer right now.');
    }
    expect(health.status).toBe(503);
    expect(await health.json()).toMatchObject({ parts: { database: false } });
    expect((await ask('/', { headers })).status).toBe(503);
  });
});
