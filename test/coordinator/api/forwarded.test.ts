import { type FastifyInstance, fastify } from 'fastify';
import { afterEach, expect, test } from 'vitest';
import { createForwarded } from '../../../coordinator/api/server.ts';

const ends: FastifyInstance[] = [];
afterEach(() => Promise.all(ends.splice(0).map((app) => app.close())));

/** What a server that trusts these makes of a request. */
const doorThatTrusts = (trusted: readonly string[]) => {
  const warned: unknown[] = [];
  const forwarded = createForwarded(trusted, { warn: (...said: unknown[]) => warned.push(said) });
  const app = fastify({
    trustProxy: forwarded.trustProxy,
    rewriteUrl: (request) => {
      forwarded.tidy(request);
      return request.url ?? '/';
    },
  });
  ends.push(app);
  app.get('/', async ({ ip, host, protocol }) => ({ ip, host, protocol }));
  const ask = async (remoteAddress: string, headers: Readonly<Record<string, string>>) =>
    (await app.inject({ url: '/', remoteAddress, headers: { host: 'ours.example', ...headers } })).json<Record<string, string>>();
  const from = async (remoteAddress: string, header: string) => (await ask(remoteAddress, { 'x-forwarded-for': header })).ip;
  return { ask, from, warned };
};

test('who comes by way of a proxy that is trusted is who it says; what stood there before it wrote is a claim', async () => {
  const { from } = doorThatTrusts(['loopback', '192.0.2.0/24']);
  expect(await from('127.0.0.1', '198.51.100.1')).toBe('198.51.100.1');
  expect(await from('::1', '2001:db8::1')).toBe('2001:db8::1');
  expect(await from('::ffff:127.0.0.1', '198.51.100.1')).toBe('198.51.100.1');
  expect(await from('127.0.0.1', '203.0.113.9, 198.51.100.1')).toBe('198.51.100.1');
  expect(await from('127.0.0.1', '203.0.113.9, 127.0.0.1, 198.51.100.1')).toBe('198.51.100.1');
});

test('a chain is followed as long as each that passes on is trusted', async () => {
  const { from } = doorThatTrusts(['loopback', '192.0.2.0/24']);
  expect(await from('127.0.0.1', '203.0.113.9, 198.51.100.1, 192.0.2.7')).toBe('198.51.100.1');
  expect(await from('127.0.0.1', '198.51.100.1, 203.0.113.9, 192.0.2.7')).toBe('203.0.113.9');
});

test('nobody else is believed', async () => {
  for (const trusted of [[], ['loopback']])
    for (const peer of ['198.51.100.1', '10.0.0.1', '2001:db8::1'])
      expect(await doorThatTrusts(trusted).from(peer, '203.0.113.9')).toBe(peer);
});

test('an entry with a port is its address, one address is written in one way, and what is none hides all before it', async () => {
  const { from } = doorThatTrusts(['loopback']);
  expect(await from('127.0.0.1', '198.51.100.1:51234')).toBe('198.51.100.1');
  expect(await from('127.0.0.1', '[2001:DB8:0::1]:443')).toBe('2001:db8::1');
  expect(await from('127.0.0.1', '[2001:db8::1]')).toBe('2001:db8::1');
  expect(await from('127.0.0.1', '::ffff:198.51.100.1')).toBe('198.51.100.1');
  for (const none of ['unknown', '_hidden', '<b>', '198.51.100', '203.0.113.9, unknown', '203.0.113.9, ', '1.2.3.4:', 'x'.repeat(5_000)])
    expect(await from('127.0.0.1', none), none).toBe('127.0.0.1');
  expect(await from('127.0.0.1', `${'127.0.0.1, '.repeat(800)}127.0.0.1`)).toBe('127.0.0.1');
});

test('no proxy says what we are called, nor that it is https', async () => {
  const headers = { 'x-forwarded-host': 'theirs.example', 'x-forwarded-proto': 'https', 'x-forwarded-for': '198.51.100.1' };
  const door = doorThatTrusts(['loopback']);
  expect(await door.ask('127.0.0.1', headers)).toEqual({ ip: '198.51.100.1', host: 'ours.example', protocol: 'http' });
});

test('where no proxy is named and one is there, that is said, once, and nobody outside can have it said', async () => {
  const { from, warned } = doorThatTrusts([]);
  await from('198.51.100.1', '203.0.113.9');
  expect(warned).toEqual([]);
  await from('127.0.0.1', '198.51.100.1');
  await from('10.0.0.1', '198.51.100.1');
  expect(warned).toEqual([[{ proxy: '127.0.0.1' }, expect.stringContaining('set TRUSTED_PROXIES')]]);
  const named = doorThatTrusts(['loopback']);
  await named.from('127.0.0.1', '198.51.100.1');
  await named.from('10.0.0.1', '198.51.100.1');
  expect(named.warned).toEqual([]);
});
