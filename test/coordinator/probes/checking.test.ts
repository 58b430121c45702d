import { beforeAll, expect, test } from 'vitest';
import { makeResultDays } from '../../../coordinator/engine/result-queries.ts';
import { countedMinutes, listCheckers } from '../../../coordinator/probes/contract.ts';
import { clockText, refutedText } from '../../../coordinator/probes/pages.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

/** Who checks for an organisation, and why to believe them (rule 16). */

const bench = gateBench();
let house: TestOrganisation;
let elsewhere: TestOrganisation;

type Made = { readonly id: string; readonly key: number };

const probe = async (name: string, more: object = {}): Promise<Made> => {
  const id = newId();
  const [row] = await bench.sql<{ key: number }[]>`
    insert into probes ${bench.sql({ id, name, continent: 'Europe', last_seen_at: new Date(bench.now), ...more })} returning key`;
  return { id, key: row?.key ?? 0 };
};

let frankfurt: Made;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
  elsewhere = await createTestOrganisation(bench.sql);
  await makeResultDays(bench.sql, bench.now - 86_400_000, bench.now + 86_400_000);
  frankfurt = await probe('Frankfurt', { clock_offset_ms: -12, version: '1.2.0' });
  const lost = await probe('Oslo');
  await bench.sql`insert into notices (kind, subject, message) values ('probe_lost', ${lost.id}, 'It is lost')`;
  await probe('Singapore', { continent: 'Asia', quarantined_at: new Date(bench.now), quarantine_reason: 'Too much was refuted' });
  await probe('Ours', { organisation_id: house.organisation, last_seen_at: null });
  await probe('Theirs', { organisation_id: elsewhere.organisation });
  await probe('Gone', { revoked_at: new Date(bench.now) });
  await probe('Not there yet', { last_seen_at: null });
});

test('are the public probes that were heard and the own ones, by continent, each with its state', async () => {
  const { items } = await bench.call(listCheckers, house.viewer);
  expect(items.map(({ name, continent, state, private: own }) => [continent, name, state, own])).toEqual([
    ['Asia', 'Singapore', 'quarantined', false],
    ['Europe', 'Frankfurt', 'well', false],
    ['Europe', 'Oslo', 'lost', false],
    ['Europe', 'Ours', 'unseen', true],
  ]);
  expect(items[0]).toMatchObject({ quarantined: true, quarantine_reason: 'Too much was refuted' });
  expect(items[1]).toMatchObject({ clock_offset_ms: -12, version: '1.2.0', refuted: 0, targets: null, monitors: 0, checks: 0 });
  const others = (await bench.call(listCheckers, elsewhere.owner)).items.map(({ name }) => name);
  expect([others.includes('Theirs'), others.includes('Ours')]).toEqual([true, false]);
});

test('what they looked at lately is counted, of the organisation alone', async () => {
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
  ].map(([monitor_key = 0, minutes = 0]) => ({
    ...{ monitor_key, probe_key: frankfurt.key, took_ms: 5, outcome: 0, at: new Date(bench.now - minutes * 60_000) },
  }));
  await bench.sql`insert into results ${bench.sql(looks)}`;
  const { items } = await bench.call(listCheckers, house.viewer);
  expect(items.find(({ name }) => name === 'Frankfurt')).toMatchObject({ monitors: 1, checks: 2 });
});

test('rule 16: the share that others refuted is that of all coordinators together, each host once', async () => {
  const tell = async (hosts: readonly number[], refuted: readonly number[], seen_at: Date): Promise<void> => {
    const coordinator = newId();
    const share = JSON.stringify({ hosts, refuted: refuted.map((host) => [host, bench.now + 60_000]) });
    await bench.sql`insert into coordinators (id, version, seen_at) values (${coordinator}, '1', ${seen_at})`;
    await bench.sql`insert into refutations (coordinator_id, probe_id, share) values (${coordinator}, ${frankfurt.id}, ${share}::text::jsonb)`;
  };
  await tell([1, 2, 3], [2], new Date(bench.now));
  await tell([3, 4], [], new Date(bench.now));
  await tell([5, 6], [5, 6], new Date(bench.now - 3_600_000));
  const { items } = await bench.call(listCheckers, house.viewer);
  expect(items.find(({ name }) => name === 'Frankfurt')).toMatchObject({ refuted: 1, targets: 4 });
});

test('a clock and a share are told in words', () => {
  expect([null, 0, 12, -3_500].map(clockText)).toEqual(['–', 'right', '12 ms behind', '3 s ahead']);
  expect(refutedText({ refuted: 0, targets: null })).toBe('nothing');
  expect(refutedText({ refuted: 3, targets: 7 })).toBe('3 of 7 hosts (43 %)');
});
