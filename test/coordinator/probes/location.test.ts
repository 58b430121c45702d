import { beforeEach, describe, expect, test } from 'vitest';
import { listNotices } from '../../../coordinator/operator/contract.ts';
import { listAllProbes, trustProbe } from '../../../coordinator/probes/contract.ts';
import { createDirectory } from '../../../coordinator/probes/directory.ts';
import { insertProbe, setQuarantine } from '../../../coordinator/probes/queries.ts';
import { createProbeTrust } from '../../../coordinator/probes/trust.ts';
import { type Operation, type OutputOf, rawInput } from '../../../shared/api/operation.ts';
import { listProbes } from '../../../shared/api/probes.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { testLog } from '../../support/network.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { type MadeUp, measuring } from '../../support/probes.ts';

/**
 * Rule 16: a probe that cannot be on the continent that it claims confirms nothing until the
 * operator says otherwise.
 */

const bench = gateBench();
const hour = 3_600_000;
let ids: Map<string, string>;
let made: MadeUp;

const makeProbe = async (
  name: string,
  continent: Continent,
  address?: string,
  organisation: string | null = null,
): Promise<string> => {
  const id = newId();
  await insertProbe(bench.sql, id, { name, continent, organisation, key: newId() });
  await bench.sql`update probes set last_seen_at = now() where id = ${id}`;
  ids.set(name, id);
  if (address !== undefined) made.addresses.set(name, address);
  return id;
};

/**
 * Where hosts really are, in milliseconds of the way to all others: near to those of the same
 * place.
 */
const places: Record<string, string> = {
  '198.41.0.4': 'Frankfurt',
  '199.9.14.201': 'Lagos',
  '192.33.4.12': 'Frankfurt',
};

beforeEach(async () => {
  await bench.sql`delete from notices`;
  await bench.sql`delete from probes`;
  ids = new Map();
  made = {
    addresses: new Map(),
    way: ({ name }, address) => (places[address] === name ? 2 : 40),
    asked: [],
    isLeader: true,
  };
  await makeProbe('Frankfurt', 'Europe', '198.41.0.4');
  await makeProbe('Lagos', 'Africa', '199.9.14.201');
});

const start = async () => {
  const directory = await createDirectory({ sql: bench.sql, log: testLog() });
  const clock = { now: () => bench.now };
  return { directory, ...measuring({ sql: bench.sql, directory, clock, made }) };
};

const doubted = async () =>
  (await bench.sql<{ name: string }[]>`select name from probes where doubted_at is not null`).map(
    ({ name }) => name,
  );
const notices = async () =>
  (await said(listNotices, { days: 1 })).items.filter(({ kind }) => kind === 'continent_doubted');
const said = async <Op extends Operation>(
  operation: Op,
  flat: object = {},
): Promise<OutputOf<Op>> =>
  // The gate's handlers are typed by their operations; a table of unlike operations cannot say so.
  (await bench.gate.executeForInstallation(operation, rawInput(operation, flat)))
    .body as OutputOf<Op>;
const trust = (name: string, is_trusted = true) =>
  said(trustProbe, { probe_id: ids.get(name), is_trusted });

describe('rule 16: a probe with a location mismatch', () => {
  test('is found by two continents, twice in a row, reported once, and kept until the operator confirms the place', async () => {
    const suva = await makeProbe('Suva', 'Oceania', '192.33.4.12');
    const { directory, round } = await start();
    await round();
    expect(made.asked.toSorted()).toEqual([
      // Europe and Africa touch: nothing could be proven between them.
      'Frankfurt 192.33.4.12',
      'Lagos 192.33.4.12',
      'Suva 198.41.0.4',
      'Suva 199.9.14.201',
    ]);
    expect(await doubted()).toEqual([]);
    await round();
    expect(await doubted()).toEqual(['Suva']);
    expect(directory.byId(suva)).toMatchObject({
      sick_at: null,
      quarantined_at: expect.any(Number),
    });
    expect(await notices()).toMatchObject([
      {
        message:
          'The probe Suva cannot be in Oceania: It answers Frankfurt (Europe) in 2 ms and Lagos (Africa) in 40 ms: no host in Oceania can be so near. It confirms nothing',
        ended_at: null,
      },
    ]);
    bench.now += hour;
    await round();
    await round();
    expect(await notices()).toHaveLength(1);
    const listed = (await said(listAllProbes)).items.find(({ id }) => id === suva);
    expect(listed).toMatchObject({
      quarantined: true,
      location: 'doubted',
      doubt: expect.stringContaining('no host in Oceania'),
    });

    expect(await trust('Suva')).toMatchObject({
      name: 'Suva',
      continent: 'Oceania',
      is_trusted: true,
    });
    await directory.refresh();
    expect(directory.byId(suva)).toMatchObject({ quarantined_at: null, doubted_at: null });
    expect(await notices()).toMatchObject([{ ended_at: expect.any(String) }]);
    for (let again = 0; again < 3; again += 1) {
      bench.now += hour;
      await round();
    }
    expect(await doubted()).toEqual([]);
    expect((await said(listAllProbes)).items.find(({ id }) => id === suva)).toMatchObject({
      location: 'trusted',
      doubt: null,
    });

    // The word was on Oceania.
    await bench.sql`update probes set continent = 'South America' where id = ${suva}`;
    await directory.refresh();
    for (let again = 0; again < 2; again += 1) {
      bench.now += hour;
      await round();
    }
    // From Africa to South America 40 ms are possible: one continent alone proves nothing.
    expect(await doubted()).toEqual([]);
    made.way = () => 2;
    for (let again = 0; again < 2; again += 1) {
      bench.now += hour;
      await round();
    }
    expect(await doubted()).toContain('Suva');
  });

  test('is not judged by one odd round, nor when its packets are dropped', async () => {
    await makeProbe('Suva', 'Oceania', '192.33.4.12');
    const { round } = await start();
    await round();
    made.way = () => undefined;
    await round();
    expect(await doubted()).toEqual([]);
    const asked = made.asked.length;
    // Nothing is suspected any more: it rests for an hour.
    await round();
    expect(made.asked).toHaveLength(asked);
  });

  test('is never a probe at a private address, on this host, at a shared gateway, or of an organisation', async () => {
    const house = await createTestOrganisation(bench.sql);
    await makeProbe('Here', 'Oceania', '127.0.0.1');
    await makeProbe('Behind', 'South America', '10.1.2.3');
    await makeProbe('Unknown', 'North America');
    await makeProbe('Ours', 'Oceania', '192.33.4.12', house.organisation);
    for (const continent of ['Asia', 'Antarctica'] as const)
      await makeProbe(`Gate ${continent}`, continent, '192.203.230.10');
    made.way = () => 0.1;
    const { round } = await start();
    for (let again = 0; again < 3; again += 1) {
      await round();
      bench.now += hour;
    }
    const asked = new Set(made.asked.map((one) => one.split(' ').at(-1)));
    expect(asked).toEqual(new Set(['198.41.0.4', '199.9.14.201']));
    expect((await doubted()).filter((name) => !['Frankfurt', 'Lagos'].includes(name))).toEqual([]);
    const { items } = await bench.call(listProbes, house.viewer);
    expect(items.find(({ name }) => name === 'Behind')).toMatchObject({
      location: 'not_proven',
      doubt: null,
      quarantined: false,
    });
  });

  test('is checked by the leader, soon after a probe joins', async () => {
    const { directory, round } = await start();
    made.isLeader = false;
    await round();
    expect(made.asked).toEqual([]);
    made.isLeader = true;
    await round();
    await makeProbe('Suva', 'Oceania', '192.33.4.12');
    await directory.refresh();
    await round();
    expect(made.asked).toEqual([]);
    bench.now += 60_000;
    await round();
    expect(made.asked).toContain('Frankfurt 192.33.4.12');
  });

  test('an unrequested answer is ignored', async () => {
    const suva = await makeProbe('Suva', 'Oceania', '192.33.4.12');
    const { whereabouts, round } = await start();
    made.way = () => undefined;
    for (let again = 0; again < 3; again += 1) {
      const stray = {
        at: bench.now,
        took_ms: 1,
        outcome: 'ok',
        cause: null,
        phases: null,
        evidence: null,
      } as const;
      whereabouts.answered({ v: 1, probe: suva, trial: newId(), result: stray });
      await round();
      bench.now += hour;
    }
    expect(await doubted()).toEqual([]);
  });

  test('is not cleared by clean checks, nor by the end of a quarantine', async () => {
    const suva = await makeProbe('Suva', 'Oceania', '192.33.4.12');
    const { directory, round } = await start();
    await round();
    await round();
    await setQuarantine(bench.sql, suva, 'Too much was refuted');
    await directory.refresh();
    expect(directory.byId(suva)?.quarantine_reason).toBe('Too much was refuted');
    await setQuarantine(bench.sql, suva, null);
    const owner = newId();
    const clock = { now: () => bench.now };
    const parts = { sql: bench.sql, clock, log: testLog(), directory, owner, aliveMs: 60_000 };
    const judge = createProbeTrust({
      ...parts,
      roster: () => ({ epoch: 1, probes: [] }),
      targetsOf: () => new Set(),
    });
    await judge.settle();
    await directory.refresh();
    expect(judge.attends(suva)).toBe(false);
    expect(directory.byId(suva)?.quarantined_at).toEqual(expect.any(Number));
  });

  test('the confirmation of an operator can be revoked, and needs an existing probe', async () => {
    await makeProbe('Suva', 'Oceania', '192.33.4.12');
    const { directory, round } = await start();
    await trust('Suva');
    await directory.refresh();
    await round();
    await round();
    expect(await doubted()).toEqual([]);
    await trust('Suva', false);
    await directory.refresh();
    for (let again = 0; again < 2; again += 1) {
      bench.now += hour;
      await round();
    }
    expect(await doubted()).toEqual(['Suva']);
    await expect(said(trustProbe, { probe_id: newId() })).rejects.toMatchObject({
      code: 'probe_not_found',
    });
  });
});
