import { beforeAll, describe, expect, test } from 'vitest';
import { createGroup, deleteGroup, listGroups } from '../../../shared/api/groups.ts';
import { listIncidents } from '../../../shared/api/incidents.ts';
import {
  createMaintenanceWindow,
  deleteMaintenanceWindow,
  listMaintenanceWindows,
} from '../../../shared/api/maintenance.ts';
import { createMonitor, deleteMonitor, listMonitors } from '../../../shared/api/monitors.ts';
import type { Operation } from '../../../shared/api/operation.ts';
import { listStatusPages } from '../../../shared/api/status-pages.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import fc from '../../support/random.ts';

const bench = gateBench();
let house: TestOrganisation;
let unknownSender: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
  unknownSender = await createTestOrganisation(bench.sql);
});

type Page = {
  readonly items: readonly { readonly id: string }[];
  readonly next_cursor: string | null;
};
const page = async (list: Operation, of: TestOrganisation, input: object): Promise<Page> =>
  (await bench.call(list, of.owner, input)) as Page;

/** Each list with what adds to it and takes from it; ids in the order of creation. */
const lists = {
  monitors: {
    list: listMonitors,
    newestFirst: false,
    add: async (of: TestOrganisation) =>
      (await bench.call(createMonitor, of.owner, { type: 'heartbeat', name: 'x' })).id,
    remove: (of: TestOrganisation, id: string) =>
      bench.call(deleteMonitor, of.owner, { monitor_id: id }),
  },
  groups: {
    list: listGroups,
    newestFirst: false,
    add: async (of: TestOrganisation) =>
      (await bench.call(createGroup, of.owner, { name: newId() })).id,
    remove: (of: TestOrganisation, id: string) =>
      bench.call(deleteGroup, of.owner, { group_id: id }),
  },
  windows: {
    list: listMaintenanceWindows,
    newestFirst: true,
    add: async (of: TestOrganisation) => {
      const monitors = [
        (
          await bench.sql<
            { id: string }[]
          >`select id from monitors where organisation_id = ${of.organisation} limit 1`
        )[0]?.id,
      ];
      const times = { starts_at: '2030-01-01T00:00:00Z', ends_at: '2030-01-01T01:00:00Z' };
      return (await bench.call(createMaintenanceWindow, of.owner, { ...times, monitors })).id;
    },
    remove: (of: TestOrganisation, id: string) =>
      bench.call(deleteMaintenanceWindow, of.owner, { window_id: id }),
  },
} as const;

describe.each(Object.entries(lists))(
  'a walk over %s',
  (_name, { list, newestFirst, add, remove }) => {
    test('shows every row that was there throughout exactly once, whatever comes and goes meanwhile', {
      timeout: 60_000,
    }, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 0, max: 9 }),
          fc.integer({ min: 1, max: 4 }),
          fc.array(
            fc.record({
              adds: fc.integer({ min: 0, max: 2 }),
              removes: fc.array(fc.nat(), { maxLength: 2 }),
            }),
            { maxLength: 6 },
          ),
          async (rows, limit, changes) => {
            const of = await createTestOrganisation(bench.sql);
            await lists.monitors.add(of);
            const born: string[] =
              list === listMonitors ? (await page(list, of, {})).items.map(({ id }) => id) : [];
            for (let row = 0; row < rows; row += 1) born.push(await add(of));
            const atStart = new Set(born);
            const gone = new Set<string>();
            const seen: string[] = [];
            let cursor: string | null = null;
            for (let step = 0; step === 0 || cursor !== null; step += 1) {
              const got: Page = await page(list, of, {
                limit,
                ...(cursor === null ? {} : { cursor }),
              });
              expect(got.items.length).toBeLessThanOrEqual(limit);
              seen.push(...got.items.map(({ id }) => id));
              cursor = got.next_cursor;
              for (let add_ = 0; add_ < (changes[step]?.adds ?? 0); add_ += 1)
                born.push(await add(of));
              for (const at of changes[step]?.removes ?? []) {
                const id = born[at % Math.max(1, born.length)];
                // The first monitor is what windows are made for.
                if (id === undefined || gone.has(id) || id === born[0]) continue;
                await remove(of, id);
                gone.add(id);
              }
            }
            expect(new Set(seen).size).toBe(seen.length);
            const throughout = born.filter((id) => atStart.has(id) && !gone.has(id));
            expect(seen.filter((id) => throughout.includes(id))).toEqual(
              newestFirst ? throughout.toReversed() : throughout,
            );
            if (newestFirst) expect(seen.filter((id) => !atStart.has(id))).toEqual([]);
            else
              expect(seen.slice(-1)[0] === undefined || born.indexOf(seen.at(-1) ?? '') >= 0).toBe(
                true,
              );
          },
        ),
        { numRuns: 12 },
      );
    });

    test('ends without an empty page', async () => {
      const of = await createTestOrganisation(bench.sql);
      const first = await lists.monitors.add(of);
      const ids = list === listMonitors ? [first] : [];
      while (ids.length < 4) ids.push(await add(of));
      const one = await page(list, of, { limit: 2 });
      const two = await page(list, of, { limit: 2, cursor: one.next_cursor });
      expect([...one.items, ...two.items].map(({ id }) => id)).toEqual(
        newestFirst ? ids.toReversed() : ids,
      );
      expect(two.next_cursor).toBeNull();
      expect((await page(list, of, { limit: 4 })).next_cursor).toBeNull();
    });
  },
);

test('rows that many make at once all appear in one walk that began after them', async () => {
  const of = await createTestOrganisation(bench.sql);
  const made = await Promise.all(Array.from({ length: 40 }, () => lists.monitors.add(of)));
  const seen: string[] = [];
  for (let cursor: string | null = null, more = true; more; more = cursor !== null) {
    const got: Page = await page(listMonitors, of, {
      limit: 7,
      ...(cursor === null ? {} : { cursor }),
    });
    seen.push(...got.items.map(({ id }) => id));
    cursor = got.next_cursor;
  }
  expect(seen.toSorted()).toEqual(made.toSorted());
});

describe('a cursor', () => {
  test('of another list, other filters, another organisation, or a forged one is refused', async () => {
    for (let count = 0; count < 3; count += 1) {
      await lists.monitors.add(house);
      await lists.groups.add(house);
      await lists.monitors.add(unknownSender);
    }
    const [row] = await bench.sql<
      { id: string }[]
    >`select id from monitors where organisation_id = ${house.organisation} limit 1`;
    for (const resolved of ['2026-11-01', '2026-11-02', '2026-11-03'])
      await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, resolved_at)
        values (${newId()}, ${house.organisation}, ${row?.id ?? ''}, ${resolved}, ${resolved})`;
    bench.now = Date.parse('2026-11-20T00:00:00Z');
    const monitors = (await page(listMonitors, house, { limit: 1 })).next_cursor ?? '';
    const incidents =
      (await page(listIncidents, house, { limit: 1, state: 'resolved' })).next_cursor ?? '';
    const foreign = (await page(listMonitors, unknownSender, { limit: 1 })).next_cursor ?? '';
    expect(await bench.refusal(listMonitors, house.owner, { cursor: monitors })).toBe('taken');
    expect(
      await bench.refusal(listIncidents, house.owner, { cursor: incidents, state: 'resolved' }),
    ).toBe('taken');
    const wrong: [Operation, object][] = [
      [listGroups, { cursor: monitors }],
      [listStatusPages, { cursor: monitors }],
      [listMonitors, { cursor: foreign }],
      [listMonitors, { cursor: incidents }],
      [listIncidents, { cursor: incidents }],
      [listIncidents, { cursor: incidents, state: 'resolved', days: 31 }],
      [listIncidents, { cursor: incidents, state: 'resolved', monitor: row?.id }],
      [listMonitors, { cursor: '' }],
      [listMonitors, { cursor: `${monitors}A` }],
      [listMonitors, { cursor: `${monitors.slice(0, -1)}${monitors.endsWith('A') ? 'B' : 'A'}` }],
      [listMonitors, { cursor: 'ünïcödé' }],
      [listMonitors, { cursor: '17' }],
    ];
    for (const [list, input] of wrong)
      expect(await bench.refusal(list, house.owner, input), JSON.stringify(input)).toBe('faults');
    await expect(bench.call(listMonitors, house.owner, { cursor: 'x' })).rejects.toMatchObject({
      faults: [{ type: 'value_error', loc: ['query', 'cursor'], input: 'x' }],
    });
  });
});
