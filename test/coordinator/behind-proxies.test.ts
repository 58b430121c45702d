import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type App, createApp } from '../../coordinator/app.ts';
import { readConfig } from '../../coordinator/config.ts';
import { createLog } from '../../shared/base/log.ts';
import { enrolmentPath } from '../../shared/bus/identity.ts';
import { eventually } from '../support/eventually.ts';
import { testSecretKey } from '../support/people.ts';
import { createAccount, environmentOf, ownDatabase } from '../support/services.ts';

/** Linux has all of 127.0.0.0/8: this is the proxy's, and 127.0.0.1 a stranger's. */
const proxy = '127.0.0.2';
const unknownSender = '127.0.0.1';

const { database } = await ownDatabase();
let app: App;
let url: string;
beforeAll(async () => {
  const environment = {
    ...environmentOf(database, await createAccount()),
    ...{ SECRET_KEY: testSecretKey, PORT: '0', TRUSTED_PROXIES: proxy, BASE_URL: 'https://antipode.example' },
  };
  app = createApp(readConfig(environment), { log: createLog({ name: 'test', level: 'silent' }) });
  ({ url } = await app.start());
});
afterAll(() => app?.close());

const ask = async (
  localAddress: string,
  { path, method = 'GET', headers = {}, body = '' }: { path: string; method?: string; headers?: Record<string, string>; body?: string },
): Promise<{ status: number | undefined; headers: NodeJS.Dict<string | string[]>; text: string }> => {
  const asked = request(`${url}${path}`, { localAddress, method, headers, agent: false });
  const answered = once(asked, 'response');
  asked.end(body);
  const [answer] = await answered;
  let text = '';
  for await (const part of answer) text += String(part);
  return { status: answer.statusCode, headers: answer.headers, text };
};

const enrol = async (localAddress: string, forwardedFor: string): Promise<number | undefined> => {
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': forwardedFor };
  const body = JSON.stringify({ token: 'svcj_', key: 'none', proof: 'none' });
  return (await ask(localAddress, { path: enrolmentPath, method: 'POST', headers, body })).status;
};

const tries = 60;
const invalid = 404;
const tooMany = 429;

test('hosts behind a proxy that is trusted are counted each by itself, whatever they claim', async () => {
  const [first] = await Promise.all(Array.from({ length: tries }, () => enrol(proxy, '198.51.100.1')));
  expect(first).toBe(invalid);
  expect(await enrol(proxy, '198.51.100.1')).toBe(tooMany);
  expect(await enrol(proxy, '203.0.113.9, 198.51.100.1')).toBe(tooMany);
  expect(await enrol(proxy, '198.51.100.2')).toBe(invalid);
});

test('whoever is no proxy of ours is counted as itself, whatever address it makes up', async () => {
  expect(await enrol(unknownSender, '198.51.100.1')).toBe(invalid);
  await Promise.all(Array.from({ length: tries - 1 }, (_, each) => enrol(unknownSender, `203.0.113.${each}`)));
  expect(await enrol(unknownSender, '203.0.113.200')).toBe(tooMany);
});

test.each(['/api/v1/openapi.json', '/mcp'])('calls of %s without a token are counted by the same host', async (path) => {
  const left = async (from: string): Promise<number> =>
    Number((await ask(proxy, { path, headers: { 'x-forwarded-for': from } })).headers['ratelimit-remaining']);
  // Again with other addresses where a minute ends in between.
  let round = 0;
  await eventually(async () => {
    round += 1;
    // A host has a whole /64 of addresses.
    const [one, same, other] = [`2001:db8:${path.length}:${round}::1`, `2001:db8:${path.length}:${round}::2`, `2001:db8:f${round}::1`];
    const before = await left(one);
    return before > 1 && (await left(same)) === before - 1 && (await left(other)) === before;
  });
});

test('where links lead is never what a proxy says that we are called', async () => {
  const headers = { 'x-forwarded-host': 'theirs.example', 'x-forwarded-proto': 'http', 'x-forwarded-for': '198.51.100.3' };
  for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-authorization-server']) {
    const { text } = await ask(proxy, { path, headers });
    expect(text).toContain('https://antipode.example');
    expect(text).not.toContain('theirs.example');
  }
});
