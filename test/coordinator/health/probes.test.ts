import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createSeen, seenProbes } from '../../../coordinator/health/metrics.ts';
import type { Continent } from '../../../shared/base/continents.ts';

const probe = (id: string, continent: Continent, organisation: string | null, healthy: boolean) => ({
  ...{ id, name: id, continent, organisation, healthy, quarantined: false },
});

test("an organisation's own probe is never counted with the public ones of its continent", async () => {
  const probes = seenProbes({
    roster: {
      epoch: 1,
      probes: [probe('public', 'Asia', null, false), probe('private', 'Asia', 'house', true), probe('other', 'Asia', 'house', true)],
    },
    directory: { byId: () => undefined },
    presentOf: () => undefined,
  });
  const registry = new Registry();
  createSeen(registry)({
    ...{ isReady: true, database: true, bus: true, streams: true, partitions: 32, resting: false },
    ...{ onBus: undefined, disk: undefined, certificates: [], stored: [], probes },
  });
  const rows = (await registry.metrics()).split('\n').filter((line) => line.startsWith('antipode_probes{'));
  expect(rows.toSorted()).toEqual([
    'antipode_probes{of="private",continent="Asia",state="well"} 2',
    'antipode_probes{of="public",continent="Asia",state="lost"} 1',
  ]);
});
