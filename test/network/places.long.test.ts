import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { incidentThat, isConfirmed, isResolved } from '../support/monitors.ts';
import { createNetwork, type MadeProbe, type Network } from '../support/network.ts';
import { storedChecks } from '../support/stored-checks.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/** Public probes on two continents, one of them in two regions, and an office with two probes. */

let network: Network;
let office: string;

beforeAll(async () => {
  network = await createNetwork();
  await network.startCoordinator();
  const paris = await network.addProbe('Europe', 'paris');
  const oslo = await network.addProbe('Europe', 'oslo');
  await network.addProbe('Asia', 'tokyo');
  for (const [{ made }, region] of [
    [paris, 'Paris'],
    [oslo, 'Oslo'],
  ] as const)
    await network.sql`update probes set region = ${region} where id = ${made.id}`;
  const first = await network.makeProbe('Europe', 'office 1', network.organisation);
  office = first.id;
  const second = await network.makeProbe('Europe', 'office 2', network.organisation, office);
  for (const made of [first, second] satisfies MadeProbe[]) await network.startProbe(made);
});
afterAll(() => network.close());

const checkedBy = async (monitor: string): Promise<readonly string[]> => {
  const checks = await storedChecks(network.sql, { monitor });
  return [...new Set(checks.map(({ probe }) => probe))].sort();
};

const watch = async (
  places: readonly string[],
): Promise<{ readonly target: Target; readonly monitor: string }> => {
  const target = await network.startTarget();
  return {
    target,
    monitor: await network.addMonitor({ target: target.url(), interval_s: 1, places }),
  };
};

describe.concurrent('a monitor with chosen places', () => {
  test('is checked from each of them by turns, from no other, and confirmed from outside with the inside beside it', async () => {
    const { target, monitor } = await watch(['Europe/Paris', 'Asia', office]);
    await eventually(async () => (await checkedBy(monitor)).length === 3, 45_000);
    expect((await checkedBy(monitor)).map((name) => name.replace(/\d/, 'x'))).toEqual([
      'office x',
      'paris',
      'tokyo',
    ]);
    target.answer(broken);
    const { id } = await incidentThat(network.sql, monitor, isConfirmed);
    const pairs = await network.sql`select seen_place, confirmed_place,
      seen_continent <> confirmed_continent as apart from incidents where id = ${id}`;
    expect(pairs).toEqual([{ seen_place: null, confirmed_place: null, apart: true }]);
    await eventually(
      async () =>
        (
          await network.sql`select 1 from incident_evidence where incident_id = ${id}
            and continent = ${`Europe/${office}`} and part = 'matrix' and outcome = 1`
        ).length === 1,
    );
    target.answer(fine);
    await incidentThat(network.sql, monitor, isResolved);
  });

  test('of one site alone is confirmed by what its place sees in a row', async () => {
    const { target, monitor } = await watch([office]);
    await eventually(async () => (await checkedBy(monitor)).length === 1, 45_000);
    target.answer(broken);
    const { id } = await incidentThat(network.sql, monitor, isConfirmed);
    expect(
      await network.sql`select seen_place, confirmed_place from incidents where id = ${id}`,
    ).toEqual([{ seen_place: office, confirmed_place: null }]);
  });
});

test('rule 10: the database refuses a pair of both sides, and one of a single place', async () => {
  const { monitor } = await watch([office]);
  const insert = (seen: string | null, confirmed: string | null) =>
    network.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at,
        resolved_at, seen_probe, seen_continent, seen_place, confirmed_probe, confirmed_continent,
        confirmed_place)
      values (gen_random_uuid(), ${network.organisation}, ${monitor}, now(), now(), now(), 'a',
        'Europe', ${seen}, 'b', ${seen !== null && confirmed !== null ? 'Europe' : 'Asia'},
        ${confirmed})`;
  const other = '00000000-0000-4000-8000-000000000001';
  await insert(null, null);
  await insert(office, other);
  for (const [seen, confirmed] of [
    [office, office],
    [office, null],
    [null, office],
  ] as const)
    await expect(insert(seen, confirmed)).rejects.toThrow('confirmed_from_another_place');
});
