import { beforeAll, describe, expect, test } from 'vitest';
import { dropResultDays, makeResultDays } from '../../../coordinator/engine/result-queries.ts';
import { freezeSamples } from '../../../coordinator/incidents/queries.ts';
import { getIncidentEvidence } from '../../../shared/api/incidents.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
const day = 86_400_000;
const minute = 60_000;
const now = Math.floor(Date.now() / 1000) * 1000;
let house: TestOrganisation;
let unknownSender: TestOrganisation;
let europe: string;
let asia: string;

beforeAll(async () => {
  bench.now = now;
  house = await createTestOrganisation(bench.sql);
  unknownSender = await createTestOrganisation(bench.sql);
  europe = await bench.addProbe('Europe');
  asia = await bench.addProbe('Asia');
  await makeResultDays(bench.sql, now - 12 * day, now + 2 * day);
});

const iso = (at: number): string => new Date(at).toISOString();

const monitor = async (): Promise<string> => {
  const { id } = await bench.call(createMonitor, house.owner, { type: 'https', target: 'https://example.com' });
  await bench.sql`update monitors set created_at = ${iso(now - 12 * day)} where id = ${id}`;
  return id;
};

const incident = async (of: string, from: number, to: number | null): Promise<string> => {
  const id = newId();
  await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
    values (${id}, ${house.organisation}, ${of}, ${iso(from)}, ${iso(from)}, ${to === null ? null : iso(to)})`;
  return id;
};

/** Results every so often, of one probe. */
const results = async (of: string, probe: string, from: number, to: number, step: number, outcome: number): Promise<void> => {
  await bench.sql`insert into results (monitor_key, at, probe_key, took_ms, outcome, cause_class)
    select m.key, at, p.key, 25, ${outcome}, ${outcome === 1 ? 'http_status' : null}
    from monitors m, probes p, generate_series(${iso(from)}::timestamptz, ${iso(to)}::timestamptz, ${`${step} milliseconds`}::interval) as at
    where m.id = ${of} and p.id = ${probe}`;
};

const evidence = (id: string, who = house) => bench.call(getIncidentEvidence, who.viewer, { incident_id: id });
const freeze = (endedBefore = now, keptFrom = now - 10 * day) =>
  bench.sql.begin((transaction) => freezeSamples(transaction, { endedBefore, keptFrom }));

describe('the evidence of an incident', () => {
  test('rule 42: shows what every continent saw, from shortly before it began to shortly after it ended', async () => {
    const id = await monitor();
    const began = now - 30 * minute;
    await results(id, europe, began - 10 * minute, began - minute, minute, 0);
    await results(id, europe, began, began + 4 * minute, minute, 1);
    await results(id, asia, began + 30_000, began + 4 * minute, minute, 0);
    const of = await incident(id, began, began + 5 * minute);
    const { samples, samples_complete, duration_s, effect } = await evidence(of);
    expect(samples_complete).toBe(true);
    expect(duration_s).toBe(300);
    expect(samples.map(({ at, continent, outcome }) => [(Date.parse(at) - began) / 1_000, continent, outcome])).toEqual([
      [-60, 'Europe', 'ok'],
      ...[0, 1, 2, 3].flatMap((minutes) => [
        [60 * minutes, 'Europe', 'fail'],
        [60 * minutes + 30, 'Asia', 'ok'],
      ]),
      [240, 'Europe', 'fail'],
    ]);
    expect(samples.find(({ outcome }) => outcome === 'fail')).toMatchObject({ cause_class: 'http_status', took_ms: 25 });
    expect(effect).toMatchObject({ days: 30, down_seconds: 300 });
    expect(effect.percent).toBeLessThan(effect.percent_without ?? 0);
  });

  test('rule 42: stays when the results are dropped, and takes in what came late', async () => {
    const id = await monitor();
    const began = now - 9 * day;
    await results(id, europe, began, began + 4 * minute, minute, 1);
    const of = await incident(id, began, began + 5 * minute);
    const before = (await evidence(of)).samples;
    expect(before).toHaveLength(5);
    while (await freeze());
    await dropResultDays(bench.sql, now - 5 * day);
    expect((await evidence(of)).samples).toEqual(before);
  });

  test('rule 42: of one that lasts longer than results are kept, the beginning stays, and what comes after it is added', async () => {
    const id = await monitor();
    const began = now - 4 * day;
    await results(id, europe, began, now - minute, 30 * minute, 1);
    const of = await incident(id, began, null);
    const before = (await evidence(of)).samples;
    while (await freeze(now, now - 3 * day));
    await dropResultDays(bench.sql, now - 2 * day);
    expect((await evidence(of)).samples).toEqual(before);
    await results(id, asia, now - 30_000, now - 30_000, minute, 1);
    expect((await evidence(of)).samples).toHaveLength(before.length + 1);
    await bench.sql`update incidents set resolved_at = ${iso(now - 20_000)} where id = ${of}`;
    while (await freeze());
    expect((await evidence(of)).samples).toHaveLength(before.length + 1);
  });

  test('rule 42: keeps at most 2,000 points, the beginning and the end whole', async () => {
    const id = await monitor();
    const began = now - 600 * minute;
    await results(id, europe, began, began + 9_999 * 3_000, 3_000, 1);
    const of = await incident(id, began, began + 9_999 * 3_000);
    while (await freeze());
    const { samples, samples_complete } = await evidence(of);
    expect(samples_complete).toBe(false);
    expect(samples.length).toBeLessThanOrEqual(2_000);
    expect(samples.length).toBeGreaterThan(1_900);
    const at = samples.map((sample) => (Date.parse(sample.at) - began) / 3_000);
    expect(at.slice(0, 500)).toEqual(Array.from({ length: 500 }, (_, place) => place));
    expect(at.slice(-500)).toEqual(Array.from({ length: 500 }, (_, place) => 9_500 + place));
  });

  test('is not shown to strangers, and nothing is frozen twice', async () => {
    const of = await incident(await monitor(), now - 20 * minute, now - 15 * minute);
    expect(await bench.refusal(getIncidentEvidence, unknownSender.owner, { incident_id: of })).toBe('incident_not_found');
    expect(await bench.refusal(getIncidentEvidence, house.owner, { incident_id: newId() })).toBe('incident_not_found');
    while (await freeze());
    expect(await freeze()).toBe(false);
  });
});
