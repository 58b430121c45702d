import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { type Health, type HealthInput, healthRoutes, versions } from '../../../coordinator/health/endpoint.ts';

const well: HealthInput = {
  database: true,
  bus: true,
  streams: true,
  partitions: true,
  probes: [{ name: 'Frankfurt', continent: 'Europe', present: true }],
  resting: false,
  busFault: undefined,
};

const here: Omit<Health, 'look'> = {
  versions,
  timeZones: () => ({ version: null, released_on: null, least_age_days: null }),
  isAtWork: () => true,
  isLeaving: () => false,
};

test('/health tells the versions and that of the time zones beside the parts', async () => {
  const web = Fastify();
  const time_zones = { version: '2026c', released_on: '2026-07-08', least_age_days: 3 };
  healthRoutes(web, { ...here, look: async () => well, timeZones: () => time_zones }, () => undefined);
  const { statusCode, payload } = await web.inject({ url: '/health' });
  expect([statusCode, JSON.parse(payload)]).toEqual([200, expect.objectContaining({ status: 'ok', versions: versions(), time_zones })]);
  await web.close();
});

test.each([
  ['no public probe is there', []],
  ['none is heard', [{ name: 'Frankfurt', continent: 'Europe', present: false }]],
])('/health is degraded when %s: nothing is checked', async (_, probes) => {
  const web = Fastify();
  healthRoutes(web, { ...here, look: async () => ({ ...well, probes }) }, () => undefined);
  const { statusCode, payload } = await web.inject({ url: '/health' });
  expect([statusCode, JSON.parse(payload)]).toEqual([503, expect.objectContaining({ status: 'degraded' })]);
  await web.close();
});

test.each([
  ['the database does not answer', { database: false }, 'The database does not answer, or is not yet of this version.'],
  ['the bus is away', { bus: false, streams: false }, 'The bus cannot be reached.'],
  ['no stream has a leader', { streams: false }, 'Streams of the bus have no leader, or what waits in them is not read.'],
  ['a partition has no owner', { partitions: false }, 'Not every partition is worked on.'],
  ['the bus must not be used', { busFault: 'nats-server 2.11.0 loses messages.' }, 'nats-server 2.11.0 loses messages.'],
])('/health says why it is degraded, and /readyz stays 200, when %s: all coordinators share that', async (_, differs, why) => {
  const web = Fastify();
  healthRoutes(web, { ...here, look: async () => ({ ...well, ...differs }) }, () => undefined);
  const [health, ready] = await Promise.all([web.inject({ url: '/health' }), web.inject({ url: '/readyz' })]);
  expect([health.statusCode, JSON.parse(health.payload)]).toEqual([503, expect.objectContaining({ status: 'degraded', why: [why] })]);
  expect([ready.statusCode, JSON.parse(ready.payload)]).toEqual([200, { status: 'ok', why: [] }]);
  await web.close();
});

test.each([
  ['is starting', { isAtWork: () => false }, ['This coordinator is starting: it waits for its database, or for the bus.']],
  ['was told to end', { isLeaving: () => true }, ['This coordinator was told to end.']],
])('/readyz is 503 while this process %s', async (_, differs, why) => {
  const web = Fastify();
  healthRoutes(web, { ...here, ...differs, look: async () => well }, () => undefined);
  const { statusCode, payload } = await web.inject({ url: '/readyz' });
  expect([statusCode, JSON.parse(payload)]).toEqual([503, { status: 'not ready', why }]);
  await web.close();
});
