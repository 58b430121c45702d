import { beforeAll, describe, expect, test } from 'vitest';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { batchMonitors, createMonitor, updateMonitor } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { listAudit } from '../../../shared/api/organisations.ts';
import { getPlace, listPlaces, updatePlace } from '../../../shared/api/places.ts';
import { countedMinutes, endProbe, inviteProbe, listProbes } from '../../../shared/api/probes.ts';
import { getMonitorResults } from '../../../shared/api/results.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { storeChecks } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { rowsFor } from '../../support/rows.ts';

const bench = gateBench();
let house: TestOrganisation;
let others: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { plan: 'business' });
  others = await createTestOrganisation(bench.sql);
  await makeResultDays(bench.sql, bench.now - 86_400_000, bench.now + 86_400_000);
});

type Made = { readonly id: string; readonly key: number };

const probe = async (name: string, more: object = {}): Promise<Made> => {
  const row = {
    id: newId(),
    name,
    continent: 'Europe',
    last_seen_at: bench.now,
    kinds: ['places'],
    ...more,
  };
  const [made] = await bench.sql<Made[]>`
    insert into probes ${rowsFor(bench.sql, 'probes', row)} returning id, key`;
  return made ?? { id: '', key: 0 };
};

const office = async (of: TestOrganisation, name: string, ...probes: readonly string[]) => {
  const id = newId();
  await bench.sql`insert into places ${rowsFor(bench.sql, 'places', { id, organisation_id: of.organisation, name, continent: 'Europe' })}`;
  for (const called of probes)
    await probe(called, { organisation_id: of.organisation, place_id: id });
  return id;
};

describe('places', () => {
  let frankfurt: Made;
  let ours: string;
  let theirs: string;

  beforeAll(async () => {
    frankfurt = await probe('fra-1', {
      region: 'Frankfurt',
      kinds: ['tcp', 'places'],
      addresses: ['203.0.113.20'],
    });
    const lost = await probe('fra-2', { region: 'Frankfurt' });
    await bench.sql`insert into notices (kind, subject, message)
      values ('probe_lost', ${lost.id}, 'It is lost')`;
    await probe('sin-1', { continent: 'Asia', kinds: ['icmp', 'places'] });
    await probe('ams-1', { region: 'Amsterdam', last_seen_at: null });
    ours = await office(house, 'Office', 'rack 1', 'rack 2');
    theirs = await office(others, 'Their office', 'their rack');
    await office(house, 'Empty');
  });

  test('are continents, their regions and the own ones, each with its probes and what they can check', async () => {
    const { items } = await bench.call(listPlaces, house.viewer);
    expect(
      items.map(({ id, name, region, owner, state, probes }) => [
        id,
        name,
        region,
        owner,
        state,
        probes.map((one) => `${one.name} ${one.state}`),
      ]),
    ).toEqual([
      ['Asia', 'Asia', null, 'installation', 'well', ['sin-1 well']],
      ['Europe', 'Europe', null, 'installation', 'well', ['fra-1 well', 'fra-2 lost']],
      [
        'Europe/Frankfurt',
        'Frankfurt',
        'Frankfurt',
        'installation',
        'well',
        ['fra-1 well', 'fra-2 lost'],
      ],
      [ours, 'Office', null, 'organisation', 'well', ['rack 1 well', 'rack 2 well']],
    ]);
    expect(items.map(({ kinds, probe_count }) => [kinds, probe_count])).toEqual([
      [['https', 'dns', 'icmp'], 1],
      [['https', 'dns', 'tcp'], 2],
      [['https', 'dns', 'tcp'], 2],
      [['https', 'dns'], 2],
    ]);
  });

  test('give the addresses of public probes alone', async () => {
    await bench.sql`update probes set addresses = '{203.0.113.99}' where name = 'rack 1'`;
    const { probes } = await bench.call(getPlace, house.viewer, { place_id: 'Europe/Frankfurt' });
    expect(probes[0]?.addresses).toEqual(['203.0.113.20']);
    const own = await bench.call(getPlace, house.viewer, { place_id: ours });
    expect(own.probes.map(({ addresses }) => addresses)).toEqual([[], []]);
  });

  test('come in pages, each place once', async () => {
    const ids: string[] = [];
    for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages += 1) {
      const page: OutputOf<typeof listPlaces> = await bench.call(listPlaces, house.viewer, {
        limit: 1,
        cursor,
      });
      expect(page.items).toHaveLength(1);
      ids.push(...page.items.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(ids).toEqual(['Asia', 'Europe', 'Europe/Frankfurt', ours]);
  });

  test('count the monitors of the organisation that were checked from there, each once', async () => {
    const keyOf = async (of: TestOrganisation): Promise<number> => {
      const { id } = await bench.call(createMonitor, of.owner, { type: 'heartbeat', name: 'job' });
      const [row] = await bench.sql<{ key: number }[]>`select key from monitors where id = ${id}`;
      return row?.key ?? 0;
    };
    const second = await probe('lon-1', { region: 'London' });
    const [one, two, foreign] = [await keyOf(house), await keyOf(house), await keyOf(others)];
    const looks = [
      [one, frankfurt.key, 1],
      [one, second.key, 2],
      [two, second.key, 3],
      [two, frankfurt.key, countedMinutes + 1],
      [foreign, frankfurt.key, 1],
    ];
    for (const [monitor = 0, key = 0, minutes = 0] of looks)
      await storeChecks(bench.sql, monitor, [{ probe: key, at: bench.now - minutes * 60_000 }]);
    const counts = (await bench.call(listPlaces, house.viewer)).items.map(
      ({ id, monitors }) => `${id} ${monitors}`,
    );
    expect(counts).toEqual(
      expect.arrayContaining(['Europe 2', 'Europe/Frankfurt 1', 'Europe/London 2', 'Asia 0']),
    );
  });

  test('of others are not found, like those that do not exist', async () => {
    for (const place_id of [theirs, newId(), 'Atlantis', 'Europe/Atlantis', 'Europe/Amsterdam'])
      expect(await bench.refusal(getPlace, house.owner, { place_id })).toBe('place_not_found');
    for (const place_id of [theirs, newId(), 'Europe', 'Europe/Frankfurt'])
      expect(await bench.refusal(updatePlace, house.owner, { place_id, name: 'Mine' })).toBe(
        'place_not_found',
      );
  });

  test('of the own are renamed, and their probes keep their names', async () => {
    const renamed = await bench.call(updatePlace, house.admin, {
      place_id: ours,
      name: ' Office Berlin ',
    });
    expect(renamed).toMatchObject({ id: ours, name: 'Office Berlin' });
    expect(await bench.call(getPlace, house.viewer, { place_id: ours })).toEqual(renamed);
    expect(renamed.probes.map(({ name }) => name)).toEqual(['rack 1', 'rack 2']);
    const { items } = await bench.call(listAudit, house.owner);
    expect(items.find(({ operation }) => operation === 'updatePlace')).toMatchObject({
      before: { name: 'Office' },
      after: { name: 'Office Berlin' },
    });
  });

  test('have names that no other place, probe or invitation of the organisation has', async () => {
    const warehouse = await office(house, 'Warehouse', 'dock');
    await bench.call(inviteProbe, house.owner, { name: 'Invited', continent: 'Europe' });
    for (const name of ['Warehouse', 'dock', 'Invited'])
      expect(await bench.refusal(updatePlace, house.owner, { place_id: ours, name })).toBe(
        'name_taken',
      );
    expect(await bench.refusal(updatePlace, house.owner, { place_id: ours, name: ' ' })).toBe(
      'name_invalid',
    );
    // Those of its own probes are free, as the name of its first one was its own.
    expect(
      await bench.call(updatePlace, house.owner, { place_id: warehouse, name: 'dock' }),
    ).toMatchObject({ name: 'dock' });
  });

  test('without a name of its own can be renamed as well', async () => {
    const { id } = await probe('Old office', { organisation_id: house.organisation });
    await bench.call(updatePlace, house.owner, { place_id: id, name: 'New office' });
    const { items } = await bench.call(listProbes, house.owner, { limit: 200 });
    expect(items.find((one) => one.id === id)).toMatchObject({
      name: 'Old office',
      place: { id, name: 'New office' },
    });
  });
});

describe('a monitor that names places', () => {
  const https = { type: 'https', target: 'https://shop.example/' };
  const stored = async (id: string) => {
    const [row] = await bench.sql<{ places: string[] | null; config: object }[]>`
      select places, config from monitors where id = ${id}`;
    return row;
  };

  test('is answered as it is stored, by create, change, batch and test, and keeps its places until it names others', async () => {
    const branch = await office(house, 'Branch', 'branch 1');
    const places = ['continent:Europe', 'Europe/Frankfurt', 'Branch'];
    const ids = ['Europe', 'Europe/Frankfurt', branch];
    const config = { places: ['Europe', 'Frankfurt', branch, 'Branch'], inside_counts: true };
    const made = await bench.call(createMonitor, house.owner, { ...https, config });
    expect(made.config).toEqual({ places, inside_counts: true });
    expect(await stored(made.id)).toEqual({ places: ids, config: made.config });
    const change = (more: object) =>
      bench.call(updateMonitor, house.owner, { monitor_id: made.id, ...more });
    expect((await change({ name: 'Shop' })).config).toEqual(made.config);
    expect((await change({ config: { ...made.config, timeout_ms: 5_000 } })).config).toEqual({
      ...made.config,
      timeout_ms: 5_000,
    });
    expect(await stored(made.id)).toMatchObject({ places: ids });
    expect((await change({ config: {} })).config).toEqual({});
    expect(await stored(made.id)).toEqual({ places: null, config: {} });
    const { items } = await bench.call(batchMonitors, house.owner, {
      items: [{ ...https, config: { places: ['Branch'] } }],
    });
    expect(await stored(items[0]?.id ?? '')).toEqual({
      places: [branch],
      config: { places: ['Branch'] },
    });
  });

  test('cannot name what the organisation has not', async () => {
    const theirs = await office(others, 'Secret office', 'secret');
    for (const called of ['Secret office', theirs, 'Nowhere'])
      expect(
        await bench.refusal(createMonitor, house.owner, { ...https, config: { places: [called] } }),
      ).toBe('place_unknown');
  });

  test('names a place by its new name once it is renamed, and is checked from it as before', async () => {
    const [shed, barn] = [await office(house, 'Shed', 'shed 1'), await office(house, 'Barn', 'b')];
    const { id, config } = await bench.call(createMonitor, house.owner, {
      ...https,
      config: { places: ['Barn', 'Shed', 'continent:Europe'], timeout_ms: 4_000 },
    });
    const foreign = await bench.call(createMonitor, house.owner, {
      ...https,
      config: { places: ['Barn'] },
    });
    await bench.call(updatePlace, house.owner, { place_id: shed, name: 'Office "B"' });
    const named = { ...config, places: ['Barn', 'Office "B"', 'continent:Europe'] };
    expect(await stored(id)).toEqual({ places: [barn, shed, 'Europe'], config: named });
    expect(await stored(foreign.id)).toEqual({ places: [barn], config: { places: ['Barn'] } });
    const again = { monitor_id: id, config: named };
    expect((await bench.call(updateMonitor, house.owner, again)).config).toEqual(named);
    // A name that means another place is no name for this one.
    await bench.call(updatePlace, house.owner, { place_id: shed, name: 'Europe' });
    expect(await stored(id)).toMatchObject({
      config: { places: ['Barn', shed, 'continent:Europe'] },
    });
  });

  test('is named when the last probe of its only place is to be deleted', async () => {
    const hut = newId();
    await probe('Hut', { id: hut, organisation_id: house.organisation });
    const only = await bench.call(createMonitor, house.owner, {
      ...https,
      config: { places: ['Hut'] },
    });
    const spare = { ...https, config: { places: ['Hut', 'continent:Europe'] } };
    await bench.call(createMonitor, house.owner, spare);
    expect(await bench.call(endProbe, house.owner, { probe_id: hut })).toMatchObject({
      monitors: [{ id: only.id }],
      monitor_count: 1,
    });
    // What it names stays until it names something else.
    const renamed = { monitor_id: only.id, name: 'Hut door', config: only.config };
    expect((await bench.call(updateMonitor, house.owner, renamed)).config).toEqual(only.config);
    const elsewhere = { monitor_id: only.id, target: 'https://other.example/' };
    expect(await bench.refusal(updateMonitor, house.owner, elsewhere)).toBe('nobody_can_check');
  });
});

describe('the response times of a monitor with both sides', () => {
  test('are of continents and of its private places, each by itself, from raw results and from hours', async () => {
    const outside = await probe('par-1');
    const inside = newId();
    await bench.sql`insert into places ${rowsFor(bench.sql, 'places', { id: inside, organisation_id: house.organisation, name: 'Mill', continent: 'Europe' })}`;
    const own = { organisation_id: house.organisation, place_id: inside };
    const [one, two] = [await probe('mill 1', own), await probe('mill 2', own)];
    const made = async (places: readonly string[] | null) => {
      const config = places === null ? {} : { places };
      const target = { type: 'https', target: 'https://mill.example/' };
      const { id } = await bench.call(createMonitor, house.owner, { ...target, config });
      const started = Math.floor(bench.now / 3_600_000 - 3) * 3_600_000;
      const looks = [outside, one, two].map(({ key }, nth) => ({
        probe: key,
        took_ms: 10 * (nth + 1),
        at: started + nth * 1_000,
      }));
      await storeChecks(bench.sql, id, looks);
      return id;
    };
    const mixed = await made(['continent:Europe', 'Mill']);
    const plain = await made(null);
    const series = async (id: string, window: string) => {
      const { series: all } = await bench.call(getMonitorResults, house.viewer, {
        monitor_id: id,
        window,
      });
      return all.map(({ continent, place, points }) => [
        continent,
        place?.name ?? null,
        points.map(({ ok, mean_ms }) => [ok, mean_ms]),
      ]);
    };
    const both = [
      ['Europe', null, [[1, 10]]],
      ['Europe', 'Mill', [[2, 25]]],
    ];
    for (const window of ['24h', '7d']) {
      expect((await series(mixed, window)).toSorted()).toEqual(both);
      expect(await series(plain, window)).toEqual([['Europe', null, [[3, 20]]]]);
    }
  });
});
