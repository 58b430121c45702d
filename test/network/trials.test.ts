import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { App } from '../../coordinator/app.ts';
import { createMonitor } from '../../shared/api/monitors.ts';
import { type Operation, type OutputOf, rawInput } from '../../shared/api/operation.ts';
import { getTestResults, testMonitor } from '../../shared/api/test-runs.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { createTestOrganisation, type Person, type TestOrganisation } from '../support/people.ts';
import { broken } from '../support/targets.ts';

/** Rule 41, with every part real: a config is tried from all continents, and nothing of it stays. */

const places: readonly Continent[] = ['Asia', 'Europe', 'North America'];
let network: Network;
let app: App;
let house: TestOrganisation;
let unknownSender: TestOrganisation;

beforeAll(async () => {
  network = await createNetwork();
  app = await network.startCoordinator();
  for (const continent of places) await network.addProbe(continent);
  house = network.house;
  unknownSender = await createTestOrganisation(network.sql);
});
afterAll(() => network.close());

const call = async <Op extends Operation>(operation: Op, who: Person, input: object): Promise<OutputOf<Op>> =>
  // The gate's handlers are typed by their operations; a table of unlike operations cannot say so.
  (await app.gate.execute(operation, who.caller, rawInput(operation, input))).body as OutputOf<Op>;

const refusal = async (operation: Operation, who: Person, input: object): Promise<string> => {
  try {
    await call(operation, who, input);
    return 'taken';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
};

/** All that the trial shows, with how often one had to ask. */
const hear = async (who: Person, trial: string) => {
  for (let known = 0, asked = 1; ; asked += 1) {
    const heard = await call(getTestResults, who, { trial_id: trial, known });
    if (heard.over) return { ...heard, rounds: asked };
    expect(heard.answers.length).toBeGreaterThan(known);
    known = heard.answers.length;
  }
};

const byContinent = (one: { continent: string }, other: { continent: string }) => one.continent.localeCompare(other.continent);

describe('rule 41: a config is tried before it is saved', () => {
  test('from every continent that could check it, each once, and each tells what it saw', async () => {
    const target = await network.startTarget();
    const { trial } = await call(testMonitor, house.member, { type: 'https', target: target.url() });
    const { asked, answers } = await hear(house.member, trial);
    expect(asked.map(({ continent }) => continent).toSorted()).toEqual(places);
    expect(answers.toSorted(byContinent)).toMatchObject(
      places.map((continent) => ({ continent, outcome: 'ok', cause: null, evidence: { status: 200 } })),
    );
    expect(target.hits.length).toBe(3);
    target.answer(broken);
    const again = await call(testMonitor, house.member, {
      type: 'https',
      target: target.url(),
      config: { continents: ['Asia', 'Europe'] },
    });
    const failing = await hear(house.member, again.trial);
    expect(failing.answers.toSorted(byContinent)).toMatchObject(
      ['Asia', 'Europe'].map((continent) => ({ continent, outcome: 'fail', cause: expect.stringContaining('503') })),
    );
    expect(target.hits.length).toBe(5);
  });

  test('opens nothing and leaves nothing behind', async () => {
    const target = await network.startTarget();
    target.answer(broken);
    const { trial } = await call(testMonitor, house.member, { type: 'https', target: target.url() });
    await hear(house.member, trial);
    const [row] = await network.sql<{ monitors: number; incidents: number; results: number; refused: number }[]>`
      select (select count(*) from monitors) as monitors, (select count(*) from incidents) as incidents, (select count(*) from results) as results,
        (select count(*) from refused) as refused`;
    expect(row).toEqual({ monitors: 0, incidents: 0, results: 0, refused: 0 });
  });

  test('carries a secret sealed; a stored one goes along while the address stays on its host, and nowhere else', async () => {
    const target = await network.startTarget();
    const keys: unknown[] = [];
    target.answer({
      is: 'by',
      answer: (request, response) => {
        if (request.url === '/other') keys.push(request.headers['x-api-key']);
        response.end('fine');
      },
    });
    const elsewhere = await network.startTarget();
    const headers = { 'X-Api-Key': 'a secret of 24 characters' };
    const config = { headers, secret_headers: ['X-Api-Key'] };
    const { id } = await call(createMonitor, house.member, { type: 'https', target: target.url(), config, interval_s: 3_600 });
    const masked = { ...config, headers: { 'X-Api-Key': '***' } };
    const { trial } = await call(testMonitor, house.member, { type: 'https', target: target.url('/other'), config: masked, monitor: id });
    const { answers } = await hear(house.member, trial);
    expect(answers.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok']);
    expect(keys).toEqual(places.map(() => 'a secret of 24 characters'));
    expect(JSON.stringify(answers)).not.toContain('a secret of');
    expect(await refusal(testMonitor, house.member, { type: 'https', target: elsewhere.url(), config: masked, monitor: id })).toBe(
      'config_invalid',
    );
    expect(await refusal(testMonitor, unknownSender.member, { type: 'https', target: target.url(), config: masked, monitor: id })).toBe(
      'monitor_not_found',
    );
    expect(elsewhere.hits.length).toBe(0);
  });

  test('is heard by whoever asked alone, and is not for viewers, nor for heartbeats', async () => {
    const target = await network.startTarget();
    const wanted = { type: 'https', target: target.url() };
    const { trial } = await call(testMonitor, house.admin, wanted);
    for (const who of [house.member, unknownSender.admin])
      expect(await refusal(getTestResults, who, { trial_id: trial })).toBe('trial_not_found');
    await hear(house.admin, trial);
    expect(await refusal(testMonitor, house.viewer, wanted)).toBe('role_insufficient');
    expect(await refusal(testMonitor, house.member, { type: 'heartbeat', target: '' })).toBe('trial_impossible');
    expect(await refusal(testMonitor, house.member, { ...wanted, config: { expect: 1, timeout_ms: 'soon' } })).toBe('config_invalid');
  });

  test('at most ten times a minute for an organisation', async () => {
    const target = await network.startTarget();
    const wanted = { type: 'https', target: target.url(), config: { continents: ['Asia'] } };
    const tried: string[] = [];
    for (let time = 0; time < 11; time += 1) tried.push(await refusal(testMonitor, unknownSender.member, wanted));
    expect(tried).toEqual([...Array.from({ length: 10 }, () => 'taken'), 'trial_limit']);
  });
});
