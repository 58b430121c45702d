import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { healthRoutes } from '../../../coordinator/faces/health.ts';
import { versions } from '../../../coordinator/versions.ts';

test('/health tells the versions and that of the time zones beside the parts', async () => {
  const web = Fastify();
  const time_zones = { version: '2026c', released_on: '2026-07-08', least_age_days: 3 };
  const well = { database: true, bus: true, streams: true, partitions: true, probes: [], busFault: undefined };
  healthRoutes(web, { look: async () => well, versions, timeZones: () => time_zones, isLeaving: () => false });
  const { statusCode, payload } = await web.inject({ url: '/health' });
  expect([statusCode, JSON.parse(payload)]).toEqual([200, expect.objectContaining({ status: 'ok', versions: versions(), time_zones })]);
  await web.close();
});
