import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, inject, test } from 'vitest';
import { createApp } from '../../coordinator/app.ts';
import { readConfig } from '../../coordinator/config.ts';
import { createLog } from '../../shared/base/log.ts';
import { isSafeServer } from '../../shared/bus/jetstream.ts';
import { eventually } from '../support/eventually.ts';
import { createTestOrganisation, type TestOrganisation, testSecretKey } from '../support/people.ts';
import { createAccount, environmentOf, ownDatabase } from '../support/services.ts';

const { database, sql } = await ownDatabase();
let house: TestOrganisation;
let environment: Record<string, string>;

beforeAll(async () => {
  house = await createTestOrganisation(sql);
  environment = { ...environmentOf(database, await createAccount()), SECRET_KEY: testSecretKey, PORT: '0' };
});
/** A request whose head has arrived, and whose body has not. */
const begun = async (url: string, path: string, headers: Record<string, string>): Promise<ClientRequest> => {
  const sent = request(`${url}${path}`, { method: 'POST', agent: false, headers: { ...headers, expect: '100-continue' } });
  sent.on('error', () => undefined); // Whether it was cut off shows in its end.
  sent.flushHeaders();
  await once(sent, 'continue');
  return sent;
};

const log = createLog({ name: 'test', level: 'silent' });
const json = () => ({ authorization: `Bearer ${house.owner.readWrite}`, 'content-type': 'application/json' });

test('a coordinator that ends takes nobody new, and answers who is being answered', async () => {
  const app = createApp(readConfig(environment), { log, lastAnswersMs: 60_000 });
  const { url } = await app.start();
  const body = '{"name":"at the last moment"}';
  const slow = await begun(url, '/api/v1/groups', { ...json(), 'content-length': String(body.length) });
  const closed = app.close();
  await eventually(() =>
    fetch(`${url}/health`).then(
      () => false,
      () => true,
    ),
  );
  const answered = once(slow, 'response');
  slow.end(body);
  const [response] = await answered;
  expect([response.statusCode, JSON.parse(await text(response)).name]).toEqual([201, 'at the last moment']);
  await closed;
  expect(await sql`select name from groups`).toEqual([{ name: 'at the last moment' }]);
});

test('and does not wait for who stalls', async () => {
  const app = createApp(readConfig(environment), { log });
  const { url } = await app.start();
  const stalled = await begun(url, '/api/v1/groups', { ...json(), 'content-length': '100' });
  const cut = new Promise((resolve) => stalled.once('close', resolve));
  await app.close();
  await cut;
});

test('before that it says that it is not ready, and goes on answering until others had time to look elsewhere', async () => {
  const elsewhere = Promise.withResolvers<void>();
  const app = createApp(readConfig(environment), { log, lookedElsewhere: () => elsewhere.promise });
  const { url } = await app.start();
  const ask = async (path: string) => {
    const answer = await fetch(`${url}${path}`);
    return { status: answer.status, body: await answer.json() };
  };
  expect(await eventually(async () => (await ask('/readyz')).status === 200)).toBe(true);
  const closed = app.close();
  expect(await ask('/readyz')).toMatchObject({ status: 503, body: { why: expect.arrayContaining(['This coordinator was told to end.']) } });
  expect((await ask('/livez')).status).toBe(200);
  expect((await fetch(`${url}/api/v1/monitors`, { headers: { authorization: `Bearer ${house.owner.read}` } })).status).toBe(200);
  elsewhere.resolve();
  await closed;
  await expect(fetch(`${url}/readyz`)).rejects.toThrow();
});

test('a bus that has known holes and can be reached from outside is told in words; what needs no bus goes on', async () => {
  const open = { ...environment, NATS_PUBLIC_URL: 'tls://bus.example:443' };
  const app = createApp(readConfig(open), { log });
  const { url } = await app.start();
  const seen = await eventually(async () => {
    const { why } = (await (await fetch(`${url}/health`)).json()) as { why: string[] };
    // Which server the run has, the machine decides; there is no probe.
    const said = why.filter((line) => !line.includes('known holes'));
    return said.length === 1 ? { isToldOf: why.length === 2 } : undefined;
  });
  const { version } = inject('services').nats;
  expect(seen).toEqual({ isToldOf: !isSafeServer(version.join('.')) });
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  await app.close();
});
