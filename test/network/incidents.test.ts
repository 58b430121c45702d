import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProbeApp } from '../../probe/app.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { eventually, type Standstill, watchStandstill } from '../support/eventually.ts';
import {
  alertsOf,
  checkAnotherHost,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  resultsOf,
  type StoredResult,
  seenFrom,
} from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { mayBusStandStill } from '../support/services.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/**
 * Four continents, each with a probe, real in every part. Each test has a target and a monitor of
 * its own; which continent fails alone goes round, because one that is refuted in many places at
 * once would be taken for sick (rule 16).
 */

const places: readonly Continent[] = ['Asia', 'Europe', 'North America', 'South America'];
let network: Network;
/** Leaves in the middle; all other monitors do without its continent. */
let leaving: ProbeApp;
let standstill: Standstill;

beforeAll(async () => {
  standstill = watchStandstill();
  network = await createNetwork();
  await network.startCoordinator();
  await network.addProbes(...places);
  leaving = await network.addProbe('Africa');
  // A probe that is refuted for half of its targets is taken for sick (rule 16.2), so that there must
  // be more of them than those that fail here for two of four.
  for (let count = 0; count < 6; count += 1) await checkAnotherHost(network, places.length + 1);
});
afterAll(async () => {
  await network.close();
  standstill.stop();
});

const watch = async (
  interval_s = 1,
  config: { continents?: Continent[] } = {},
): Promise<{ target: Target; monitor: string }> => {
  const target = await network.startTarget();
  const { continents = places } = config;
  const monitor = await network.addMonitor({
    target: target.url(),
    interval_s,
    config: { continents },
  });
  await seenFrom(network.sql, monitor, continents.length);
  return { target, monitor };
};

describe.concurrent('an incident', () => {
  test('is confirmed from another continent, which is asked at once, long before its turn comes', async () => {
    const { target, monitor } = await watch(8, { continents: ['Asia', 'Europe'] });
    target.answer(broken);
    const incident = await incidentThat(network.sql, monitor, isConfirmed);
    expect(incident.confirmed_continent).not.toBe(incident.seen_continent);
    const [first, second] = [Number(incident.started_at), Number(incident.confirmed_at)];
    expect(second).toBeGreaterThanOrEqual(first);
    // The other continent's turn, and a sample, would come five seconds and more after the first
    // failure. A bus that stands still asks nobody.
    expect(second - first - standstill.between(first, second)).toBeLessThan(
      mayBusStandStill() ? 30_000 : 4_000,
    );
    const alerts = await eventually(async () => {
      const rows = await alertsOf(network.sql, monitor);
      return rows[0]?.state === 'due' ? rows : undefined;
    });
    expect(alerts).toEqual([{ event: 'down', state: 'due' }]);
  });

  test('keeps what the failing checks saw, and what every other continent saw when asked', async () => {
    const { target, monitor } = await watch();
    target.answer(broken);
    const { id } = await incidentThat(network.sql, monitor, isConfirmed);
    const rows = await eventually(async () => {
      const found = await network.sql<
        { part: string; continent: string; outcome: number; evidence: { status?: number } | null }[]
      >`
        select part, continent, outcome, evidence from incident_evidence where incident_id = ${id} order by part, continent`;
      return found.length === 5 || (mayBusStandStill() && found.length >= 2) ? found : undefined;
    });
    // Of those asked, whoever is heard late (the bus stood still) has no place in it.
    const asked = mayBusStandStill()
      ? rows.slice(2).map(() => 'matrix')
      : ['matrix', 'matrix', 'matrix'];
    expect(rows.map(({ part }) => part)).toEqual(['confirmed', ...asked, 'seen']);
    expect(
      rows.every(
        ({ outcome, evidence }) => outcome === 1 && JSON.stringify(evidence).includes('503'),
      ),
    ).toBe(true);
  });

  test('seen from one continent only stays unconfirmed, counts as no downtime and alerts no one', async () => {
    const { target, monitor } = await watch();
    target.answer(broken, ['Asia']);
    const incident = await incidentThat(network.sql, monitor, () => true);
    // Two more failures of the same continent: everybody else was asked each time.
    await eventually(
      async () =>
        (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1).length >= 3,
      40_000,
    );
    const [now] = await incidentsOf(network.sql, monitor);
    expect(now).toMatchObject({
      id: incident.id,
      seen_continent: 'Asia',
      confirmed_at: null,
      resolved_at: null,
    });
    expect(await alertsOf(network.sql, monitor)).toEqual([]);
  });

  test('seen from one continent only and later by two is two matters: the lonely one closes, and a new one is confirmed', async () => {
    const { target, monitor } = await watch();
    target.answer(broken, ['Europe']);
    await incidentThat(network.sql, monitor, () => true);
    await eventually(
      async () =>
        (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1).length >= 2,
      40_000,
    );
    target.answer(broken, ['Europe', 'North America']);
    const confirmed = await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    const [lonely, second] = await incidentsOf(network.sql, monitor);
    expect(lonely?.confirmed_at).toBeNull();
    // Where this process had no turn for long, the one that failed was not observed meanwhile.
    expect(['seen from one continent only', 'no longer observed']).toContain(lonely?.note);
    expect(second?.id).toBe(confirmed.id);
    expect(new Set([confirmed.seen_continent, confirmed.confirmed_continent])).toEqual(
      new Set(['Europe', 'North America']),
    );
  });

  test('of two continents down and two up is one steady outage without flapping', async () => {
    const { target, monitor } = await watch();
    target.answer(broken, ['North America', 'South America']);
    const { id } = await incidentThat(network.sql, monitor, isConfirmed);
    // Every continent has its say three times over.
    const before = (await resultsOf(network.sql, monitor)).length;
    await eventually(
      async () => (await resultsOf(network.sql, monitor)).length >= before + 12,
      40_000,
    );
    const all = await incidentsOf(network.sql, monitor);
    expect(all.filter(({ confirmed_at }) => confirmed_at !== null)).toHaveLength(1);
    expect(all.at(-1)).toMatchObject({ id, resolved_at: null });
  });

  test('ends with the recovery, at the first check that passed, and recipients of "down" get "up"', async () => {
    const { target, monitor } = await watch();
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed);
    await eventually(async () => (await alertsOf(network.sql, monitor))[0]?.state === 'due');
    target.answer(fine);
    const { started_at, resolved_at } = await incidentThat(
      network.sql,
      monitor,
      isResolved,
      40_000,
    );
    const results = await resultsOf(network.sql, monitor);
    const failed = new Set(
      results.filter(({ outcome }) => outcome === 1).map(({ continent }) => continent),
    );
    // Whoever was asked only after it had healed never saw the outage, and cannot see its end.
    const isEnd = ({ continent, at, outcome }: StoredResult) =>
      outcome === 0 && failed.has(continent) && at > started_at;
    expect(results.filter(isEnd).map(({ at }) => Number(at))).toContain(Number(resolved_at));
    expect((await alertsOf(network.sql, monitor)).map(({ event }) => event)).toEqual([
      'down',
      'up',
    ]);
  });

  test('is sampled every five seconds while it is open, although the interval is longer', async () => {
    const target = await network.startTarget();
    target.answer(broken);
    const monitor = await network.addMonitor({
      target: target.url(),
      interval_s: 10,
      config: { continents: places },
    });
    await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    await eventually(() => target.hits.length >= places.length, 30_000);
    const before = target.hits.length;
    await eventually(() => target.hits.length >= before + 4, 40_000);
    // By schedule alone the fourth would come thirty seconds after the first.
    const [first, , , fourth] = target.hits.slice(before);
    expect(Number(fourth?.at) - Number(first?.at)).toBeLessThan(25_000);
  });

  test('lonely, whose continent falls silent, ends as no longer observed', async () => {
    const { target, monitor } = await watch(1, { continents: ['Africa', 'Asia'] });
    target.answer(broken, ['Africa']);
    await incidentThat(network.sql, monitor, ({ seen_continent }) => seen_continent === 'Africa');
    await leaving.close();
    const ended = await incidentThat(network.sql, monitor, isResolved, 30_000);
    expect(ended).toMatchObject({ confirmed_at: null, note: 'no longer observed' });
  });
});
