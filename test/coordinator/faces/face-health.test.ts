import Fastify from 'fastify';
import { describe, expect, test } from 'vitest';
import { versions } from '../../../coordinator/coordinator-versions.ts';
import { healthRoutes, type Standing } from '../../../coordinator/faces/face-health.ts';

const well: Standing = {
  database: true,
  bus: true,
  streams: true,
  partitions: true,
  probes: [{ name: 'Frankfurt', continent: 'Europe', present: true }],
  busFault: undefined,
};

test('/health tells the versions and that of the time zones beside the parts', async () => {
  const web = Fastify();
  const time_zones = { version: '2026c', released_on: '2026-07-08', least_age_days: 3 };
  healthRoutes(web, { look: async () => well, versions, timeZones: () => time_zones, isLeaving: () => false }, () => undefined);
  const { statusCode, payload } = await web.inject({ url: '/health' });
  expect([statusCode, JSON.parse(payload)]).toEqual([200, expect.objectContaining({ status: 'ok', versions: versions(), time_zones })]);
  await web.close();
});

test.each([
  ['no public probe is there', []],
  ['none is heard', [{ name: 'Frankfurt', continent: 'Europe', present: false }]],
])('/health is degraded when %s: nothing is checked', async (_, probes) => {
  const web = Fastify();
  const timeZones = () => ({ version: null, released_on: null, least_age_days: null });
  healthRoutes(web, { look: async () => ({ ...well, probes }), versions, timeZones, isLeaving: () => false }, () => undefined);
  const { statusCode, payload } = await web.inject({ url: '/health' });
  expect([statusCode, JSON.parse(payload)]).toEqual([503, expect.objectContaining({ status: 'degraded' })]);
  await web.close();
});

describe('/readyz', () => {
  test.each([
    ['all is well', {}, 200, []],
    ['no stream has a leader', { streams: false }, 503, ['Streams of the bus have no leader: nothing goes through them.']],
    ['the bus is away, and its streams with it', { bus: false, streams: false }, 503, ['The bus cannot be reached.']],
    ['the bus must not be used', { busFault: 'nats-server 2.11.0 loses messages.' }, 503, ['nats-server 2.11.0 loses messages.']],
    ['a partition has no owner, which another coordinator may mend', { partitions: false }, 200, []],
  ])('%s', async (_, differs, status, why) => {
    const web = Fastify();
    const time_zones = { version: null, released_on: null, least_age_days: null };
    healthRoutes(
      web,
      { look: async () => ({ ...well, ...differs }), versions, timeZones: () => time_zones, isLeaving: () => false },
      () => undefined,
    );
    const { statusCode, payload } = await web.inject({ url: '/readyz' });
    expect([statusCode, JSON.parse(payload)]).toEqual([status, { status: status === 200 ? 'ok' : 'not ready', why }]);
    await web.close();
  });
});
