import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type RestrictedMonitor,
  unassignableSentence,
  whyUnassignable,
} from '../../../coordinator/assignments/uncheckable.ts';
import type { Checker } from '../../../coordinator/monitors/locations.ts';
import { showOwnProbe } from '../../../coordinator/probes/contract.ts';
import { createDirectory } from '../../../coordinator/probes/directory.ts';
import { clockText, refutedText } from '../../../coordinator/probes/pages.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { listAudit } from '../../../shared/api/organisations.ts';
import { countedMinutes, endProbe, inviteProbe, listProbes } from '../../../shared/api/probes.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { storeChecks } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createNetwork, type Network, testLog } from '../../support/network.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { rowsFor } from '../../support/rows.ts';

describe('directory', () => {
  let network: Network;
  beforeAll(async () => {
    network = await createNetwork();
  });
  afterAll(() => network.close());

  test('a probe that was just made and speaks twice at once is known both times', async () => {
    const directory = await createDirectory({ sql: network.sql, log: testLog() });
    const { id } = await network.makeProbe('Europe');
    const found = await Promise.all([directory.find(id), directory.find(id)]);
    expect(found.map((row) => row?.id)).toEqual([id, id]);
  });
});

/** Who checks for an organisation, and why to believe them (rule 16). */
describe('checking', () => {
  const bench = gateBench();
  let house: TestOrganisation;
  let elsewhere: TestOrganisation;

  type Made = { readonly id: string; readonly key: number };

  const probe = async (name: string, more: object = {}): Promise<Made> => {
    const id = newId();
    const [row] = await bench.sql<{ key: number }[]>`
    insert into probes ${rowsFor(bench.sql, 'probes', { id, name, continent: 'Europe', last_seen_at: bench.now, ...more })} returning key`;
    return { id, key: row?.key ?? 0 };
  };

  let frankfurt: Made;

  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql);
    elsewhere = await createTestOrganisation(bench.sql);
    await makeResultDays(bench.sql, bench.now - 86_400_000, bench.now + 86_400_000);
    frankfurt = await probe('Frankfurt', {
      clock_offset_ms: -12,
      version: '1.2.0',
      kinds: ['tcp', 'both_families'],
      addresses: ['203.0.113.20'],
    });
    const lost = await probe('Oslo');
    await bench.sql`insert into notices (kind, subject, message) values ('probe_lost', ${lost.id}, 'It is lost')`;
    await probe('Singapore', {
      continent: 'Asia',
      quarantined_at: bench.now,
      quarantine_reason: 'Too much was refuted',
    });
    await probe('Ours', {
      organisation_id: house.organisation,
      last_seen_at: null,
      addresses: ['203.0.113.99'],
    });
    await probe('Theirs', { organisation_id: elsewhere.organisation });
    await probe('Gone', { revoked_at: bench.now });
    await probe('Not there yet', { last_seen_at: null });
  });

  test('are the public probes that were heard and the own ones, by continent, each with its state', async () => {
    const { items } = await bench.call(listProbes, house.viewer);
    expect(
      items.map(({ name, continent, state, private: own }) => [continent, name, state, own]),
    ).toEqual([
      ['Asia', 'Singapore', 'quarantined', false],
      ['Europe', 'Frankfurt', 'well', false],
      ['Europe', 'Oslo', 'lost', false],
      ['Europe', 'Ours', 'unseen', true],
    ]);
    expect(items[0]).toMatchObject({
      quarantined: true,
      quarantine_reason: 'Too much was refuted',
    });
    expect(items[1]).toMatchObject({
      clock_offset_ms: -12,
      version: '1.2.0',
      refuted: 0,
      targets: null,
      monitors: 0,
      checks: 0,
    });
    const others = (await bench.call(listProbes, elsewhere.owner)).items.map(({ name }) => name);
    expect([others.includes('Theirs'), others.includes('Ours')]).toEqual([true, false]);
  });

  test('say what they check, and where the requests of public ones come from', async () => {
    const { items } = await bench.call(listProbes, house.viewer);
    expect(items.map(({ name, kinds, addresses }) => [name, kinds, addresses])).toEqual([
      ['Singapore', ['https', 'dns'], []],
      ['Frankfurt', ['https', 'dns', 'tcp'], ['203.0.113.20']],
      ['Oslo', ['https', 'dns'], []],
      ['Ours', ['https', 'dns'], []],
    ]);
  });

  test('come in pages, each probe once', async () => {
    const names: string[] = [];
    for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages += 1) {
      const page: OutputOf<typeof listProbes> = await bench.call(listProbes, house.viewer, {
        limit: 1,
        cursor,
      });
      expect(page.items).toHaveLength(1);
      names.push(...page.items.map(({ name }) => name));
      cursor = page.next_cursor;
    }
    expect(names).toEqual(['Singapore', 'Frankfurt', 'Oslo', 'Ours']);
  });

  test('their recent checks are counted, of the organisation alone', async () => {
    const keyOf = async (of: TestOrganisation): Promise<number> => {
      const { id } = await bench.call(createMonitor, of.owner, { type: 'heartbeat', name: 'job' });
      const [row] = await bench.sql<{ key: number }[]>`select key from monitors where id = ${id}`;
      return row?.key ?? 0;
    };
    const [ours, theirs] = [await keyOf(house), await keyOf(elsewhere)];
    const looks = [
      [ours, 1],
      [ours, 2],
      [ours, countedMinutes + 1],
      [theirs, 1],
    ];
    for (const [monitor = 0, minutes = 0] of looks)
      await storeChecks(bench.sql, monitor, [
        { probe: frankfurt.key, at: bench.now - minutes * 60_000 },
      ]);
    const { items } = await bench.call(listProbes, house.viewer);
    expect(items.find(({ name }) => name === 'Frankfurt')).toMatchObject({
      monitors: 1,
      checks: 2,
    });
  });

  test('rule 16: the share that others refuted is summed over all coordinators, each host once', async () => {
    const tell = async (
      hosts: readonly number[],
      refuted: readonly number[],
      seen_at: number,
    ): Promise<void> => {
      const coordinator = newId();
      const share = JSON.stringify({
        hosts,
        refuted: refuted.map((host) => [host, bench.now + 60_000]),
      });
      await bench.sql`insert into coordinators (id, version, seen_at) values (${coordinator}, '1', ${new Date(seen_at)})`;
      await bench.sql`insert into refutations (coordinator_id, probe_id, share) values (${coordinator}, ${frankfurt.id}, ${share}::text::jsonb)`;
    };
    await tell([1, 2, 3], [2], bench.now);
    await tell([3, 4], [], bench.now);
    await tell([5, 6], [5, 6], bench.now - 3_600_000);
    const { items } = await bench.call(listProbes, house.viewer);
    expect(items.find(({ name }) => name === 'Frankfurt')).toMatchObject({
      refuted: 1,
      targets: 4,
    });
  });

  test('a clock error and a share are shown in words', () => {
    expect([null, 0, 12, -3_500].map(clockText)).toEqual([
      '–',
      'exact',
      '12 ms behind',
      '3 s ahead',
    ]);
    expect(refutedText({ refuted: 0, targets: null })).toBe('–');
    expect(refutedText({ refuted: 3, targets: 7 })).toBe('3 of 7 hosts (43%)');
  });
});

/** An organisation ends its own private probe, as the operator ends any. */
describe('a private probe', () => {
  const bench = gateBench();
  let house: TestOrganisation;
  let strangers: TestOrganisation;
  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql, { plan: 'team' });
    strangers = await createTestOrganisation(bench.sql);
  });

  const monitorOf = (probe: string | null, name: string) =>
    bench.call(createMonitor, house.owner, {
      type: 'https',
      target: 'https://shop.example/',
      name,
      interval_s: 60,
      config: probe === null ? {} : { probe },
    });

  test('is revoked: its keys are void, the bus is updated, and its exclusive monitors are named', async () => {
    const probe = await bench.addProbe('Europe', { house });
    const [till] = await Promise.all([monitorOf(probe, 'Till')]);
    await monitorOf(null, 'Shop');
    const own = { id: probe, monitors: [{ id: till.id, name: 'Till' }], monitor_count: 1 };
    expect(await bench.call(showOwnProbe, house.admin, { probe_id: probe })).toMatchObject(own);
    const [before] = await bench.sql<
      { keys: { key: string }[] }[]
    >`select keys from probes where id = ${probe}`;
    expect(await bench.call(endProbe, house.admin, { probe_id: probe })).toMatchObject(own);
    const [after] = await bench.sql<
      { keys: unknown[]; revoked_at: number | null }[]
    >`select keys, revoked_at from probes where id = ${probe}`;
    expect(after).toMatchObject({ keys: [], revoked_at: expect.any(Number) });
    const keys = (before?.keys ?? []).map(({ key }) => key);
    expect(keys.length).toBeGreaterThan(0);
    expect(await bench.sql`select 1 from revoked_keys where key = any(${keys})`).toHaveLength(
      keys.length,
    );
    const lines = await bench.sql<{ change: string }[]>`
      select payload ->> 'change' as change from outbox where topic = 'probe' and payload ->> 'probe' = ${probe} order by id`;
    expect(lines.at(-1)?.change).toBe('revoked');
    expect((await bench.call(listProbes, house.owner)).items.map(({ id }) => id)).not.toContain(
      probe,
    );
    const { items } = await bench.call(listAudit, house.owner);
    expect(items.find(({ operation }) => operation === 'endProbe')).toMatchObject({
      about: { id: probe },
      before: { continent: 'Europe' },
    });
    expect(await bench.refusal(endProbe, house.owner, { probe_id: probe })).toBe('probe_not_found');
  });

  test('that is public, of others, or unknown is not found', async () => {
    const ids = [
      await bench.addProbe('Asia'),
      await bench.addProbe('Asia', { house: strangers }),
      newId(),
    ];
    for (const probe_id of ids)
      for (const operation of [endProbe, showOwnProbe])
        expect(await bench.refusal(operation, house.owner, { probe_id })).toBe('probe_not_found');
    expect(
      await bench.sql`select 1 from probes where id = any(${ids}::uuid[]) and revoked_at is not null`,
    ).toEqual([]);
  });

  test('once ended, makes room in the plan', async () => {
    const small = await createTestOrganisation(bench.sql, { plan: 'team' });
    const probes: string[] = [];
    while (
      (await bench.refusal(inviteProbe, small.owner, { name: newId(), continent: 'Africa' })) ===
      'taken'
    ) {
      await bench.sql`delete from probe_invitations where organisation_id = ${small.organisation}`;
      probes.push(await bench.addProbe('Africa', { house: small }));
    }
    await bench.call(endProbe, small.owner, { probe_id: probes[0] });
    expect(
      await bench.refusal(inviteProbe, small.owner, { name: newId(), continent: 'Africa' }),
    ).toBe('taken');
  });
});

describe('rule 5: a monitor that no probe can check any more', () => {
  const somewhere: Checker = {
    id: 'p',
    organisation: null,
    place: null,
    place_name: null,
    continent: 'Europe',
    region: null,
    allowed_cidrs: [],
    kinds: [],
  };
  const monitor: RestrictedMonitor = {
    name: 'shop',
    kind: 'https',
    target: 'https://example.com/',
    config: {},
    places: null,
    organisation: 'o',
  };

  test('has the reason with which a new one like it would be refused', () => {
    const asian = { ...monitor, config: { continents: ['Asia'] } };
    expect(whyUnassignable(asian, [somewhere])).toMatch(/^config\.continents: no probe is in Asia/);
    expect(whyUnassignable(asian, [{ ...somewhere, continent: 'Asia' }])).toBeUndefined();
    expect(whyUnassignable(monitor, [somewhere])).toBeUndefined();
  });

  test('has several places, of which none is left', () => {
    const config = { places: ['continent:Asia', 'Office'] };
    const mixed = { ...monitor, config, places: ['Asia', 'office'] };
    const kinds = ['places'];
    const office = { ...somewhere, id: 'q', organisation: 'o', place: 'office', kinds };
    expect(whyUnassignable(mixed, [somewhere])).toMatch(
      /^config\.places: "continent:Asia" has no probe any more/,
    );
    expect(whyUnassignable(mixed, [somewhere, office])).toBeUndefined();
    expect(whyUnassignable(mixed, [{ ...office, organisation: 'others' }])).toBeDefined();
  });

  test('is not the result of an error of ours', () => {
    const broken = new Proxy([somewhere], {
      get: () => {
        throw new TypeError('broken');
      },
    });
    expect(() => whyUnassignable(monitor, broken)).toThrow(TypeError);
  });

  const some = (count: number) =>
    Array.from({ length: count }, (_, nth) => ({ name: `m${nth + 1}`, why: `gone ${nth + 1}.` }));

  test('is one notice for all of them, which names the first five', () => {
    expect(unassignableSentence(some(1))).toBe('Nobody can check this monitor: "m1" (gone 1)');
    expect(unassignableSentence(some(2))).toBe(
      'Nobody can check these 2 monitors: "m1" (gone 1), "m2" (gone 2)',
    );
    expect(unassignableSentence(some(5))).toMatch(/"m4" \(gone 4\), "m5" \(gone 5\)$/);
    expect(unassignableSentence(some(7))).toMatch(
      /^Nobody can check these 7 monitors: .*"m5" \(gone 5\) and 2 more$/,
    );
  });
});
