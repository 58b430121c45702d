import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { App } from '../../coordinator/app.ts';
import { enqueue } from '../../coordinator/database/outbox.ts';
import { createMonitor } from '../../shared/api/monitors.ts';
import { type Operation, type OutputOf, rawInput } from '../../shared/api/operation.ts';
import { createTest, getTest } from '../../shared/api/test-runs.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { eventually } from '../support/eventually.ts';
import { seenFrom } from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { test } from '../support/network-test.ts';
import { createTestOrganisation, type Person, type TestOrganisation } from '../support/people.ts';
import { storedChecks } from '../support/stored-checks.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/** A monitor of a day that nobody could look at when it was made, because no probe was well. */
describe.concurrent('a first check', () => {
  const makeDaily = async (network: Network, target: Target): Promise<string> => {
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 86_400 });
    await eventually(
      async () =>
        (await network.sql`select 1 from outbox where topic = 'monitor' and done_at is null`)
          .length === 0,
    );
    return monitor;
  };

  describe('a monitor with an interval of a day, created while no probe is healthy', () => {
    test('is checked when the first one is, and not again when the next one comes', async ({
      network,
      target,
    }) => {
      await network.startCoordinator();
      const monitor = await makeDaily(network, target);
      await network.addProbe('Europe');
      await seenFrom(network.sql, monitor, 1);
      const hits = target.hits.length;
      await network.addProbe('Asia');
      const other = await network.addMonitor({ target: target.url('/other'), interval_s: 1 });
      await seenFrom(network.sql, other, 2);
      expect(target.hits.filter(({ url }) => url !== '/other').length).toBe(hits);
    });

    test('is checked when the first one is, though the coordinator that created it is gone', async ({
      network,
      target,
    }) => {
      const first = await network.startCoordinator();
      const monitor = await makeDaily(network, target);
      await first.close();
      await network.startCoordinator();
      await network.addProbe('Europe');
      await seenFrom(network.sql, monitor, 1);
    });
  });

  test('a first check that was lost with its probe is asked for again, though the probe was back before it was missed', async ({
    network,
    target,
  }) => {
    await network.startCoordinator();
    const { made, close } = await network.addProbe('Europe');
    target.answer({ is: 'hang' });
    const monitor = await network.addMonitor({
      target: target.url(),
      interval_s: 86_400,
      config: { timeout_ms: 3_000 },
    });
    await eventually(() => target.hits.length > 0);
    await close();
    target.answer(fine);
    await network.startProbe(made);
    await seenFrom(network.sql, monitor, 1);
  });

  test('a monitor with a longer interval is checked once more, because its last check covers only the old interval', async ({
    network,
    target,
  }) => {
    await network.startCoordinator();
    await network.addProbe('Europe');
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 3_600 });
    await seenFrom(network.sql, monitor, 1);
    const hits = target.hits.length;
    await network.sql.begin(async (transaction) => {
      const [row] = await transaction<{ partition: number }[]>`
      update monitors set interval_s = 86_400 where id = ${monitor} returning partition`;
      const payload = { monitor, change: 'edited', what_is_checked_changed: false } as const;
      await enqueue(transaction, {
        topic: 'monitor',
        payload,
        partition: row?.partition ?? 0,
        organisation: network.organisation,
      });
    });
    await eventually(() => target.hits.length > hits);
  });

  test('a thousand monitors with an interval of a day, created at once, are each checked within seconds, though by one probe', async ({
    network,
    target,
  }) => {
    await network.startCoordinator();
    await network.addProbe('Europe');
    const made = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        network.addMonitor({ target: target.url(`/${index}`), interval_s: 86_400 }),
      ),
    );
    await eventually(async () => {
      const checks = await storedChecks(network.sql);
      return new Set(checks.map(({ monitor }) => monitor)).size === made.length;
    }, 60_000);
    // Each once, but for the few whose turn of the day falls into these seconds: a look that waits
    // is no second one.
    expect(target.hits.length).toBeLessThan(made.length * 1.05);
  });
});

/** Rule 5: a choice that comes to be one that no probe can serve is shown. */
describe('uncheckable monitors', () => {
  let network: Network;

  beforeAll(async () => {
    network = await createNetwork();
    await network.startCoordinator();
    await network.makeProbe('Europe');
  });
  afterAll(() => network.close());

  const open = () =>
    network.sql<
      { kind: string; message: string }[]
    >`select kind, message from notices where kind = 'nobody_can_check' and ended_at is null`;

  test('monitors whose last probe was revoked are in one notice for the operator, until they can be checked again', async () => {
    const far = await network.addMonitor({
      target: 'https://far.example/',
      name: 'far',
      config: { continents: ['Oceania'] },
    });
    await network.addMonitor({
      target: 'https://both.example/',
      name: 'both',
      config: { continents: ['Oceania', 'Europe'] },
    });
    await network.addMonitor({ target: 'https://10.1.2.3/', name: 'inside' });
    // After them: where nobody is uncheckable it is looked again when the probes change, for by the
    // API no such monitor could be made.
    const { id } = await network.makeProbe('Oceania');
    const inside = /^Nobody can check this monitor: "inside" \(target: 10\.1\.2\.3 is private/;
    await eventually(async () => inside.test((await open())[0]?.message ?? ''));
    await network.revokeProbe(id);
    await eventually(
      async () =>
        (await open())[0]?.message.startsWith('Nobody can check these 2 monitors') === true,
    );
    expect((await open())[0]?.message).toContain(
      '"far" (config.continents: no probe is in Oceania; probes are in Europe)',
    );
    expect((await open())[0]?.message).not.toContain('"both"');
    await network.editMonitor(far, { config: {} });
    await eventually(
      async () =>
        (await open())[0]?.message.startsWith('Nobody can check this monitor: "inside"') === true,
    );
    const [europe] = await network.sql<
      { id: string }[]
    >`select id from probes where continent = 'Europe'`;
    await network.sql`update probes set allowed_cidrs = '{10.0.0.0/8}' where id = ${europe?.id ?? ''}`;
    await eventually(async () => (await open()).length === 0);
  });
});

/**
 * Rule 41, with every part real: a config is tried from all continents, and nothing of it stays.
 */
describe('rule 41: a config is tested before it is saved', () => {
  const places: readonly Continent[] = ['Asia', 'Europe', 'North America'];
  let network: Network;
  let app: App;
  let house: TestOrganisation;
  let unknownSender: TestOrganisation;

  beforeAll(async () => {
    network = await createNetwork();
    app = await network.startCoordinator();
    await network.addProbes(...places);
    house = network.house;
    unknownSender = await createTestOrganisation(network.sql);
  });
  afterAll(() => network.close());

  const call = async <Op extends Operation>(
    operation: Op,
    who: Person,
    input: object,
  ): Promise<OutputOf<Op>> =>
    // The gate's handlers are typed by their operations; a table of unlike operations cannot say
    // so.
    (await app.gate.execute(operation, who.caller, rawInput(operation, input)))
      .body as OutputOf<Op>;

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
      const heard = await call(getTest, who, { test_id: trial, known });
      if (heard.over) return { ...heard, rounds: asked };
      expect(heard.answers.length).toBeGreaterThan(known);
      known = heard.answers.length;
    }
  };

  const byContinent = (one: { continent: string }, other: { continent: string }) =>
    one.continent.localeCompare(other.continent);

  test('from every continent that could check it, each once, and each returns its result', async () => {
    const target = await network.startTarget();
    const { id: trial } = await call(createTest, house.member, {
      type: 'https',
      target: target.url(),
      wait_s: 0,
    });
    const { asked, answers } = await hear(house.member, trial);
    expect(asked.map(({ continent }) => continent).toSorted()).toEqual(places);
    expect(answers.toSorted(byContinent)).toMatchObject(
      places.map((continent) => ({
        continent,
        outcome: 'ok',
        cause: null,
        evidence: { status: 200 },
      })),
    );
    expect(target.hits.length).toBe(3);
    target.answer(broken);
    const again = await call(createTest, house.member, {
      type: 'https',
      target: target.url(),
      config: { continents: ['Asia', 'Europe'] },
    });
    const failing = await hear(house.member, again.id);
    expect(failing.answers.toSorted(byContinent)).toMatchObject(
      ['Asia', 'Europe'].map((continent) => ({
        continent,
        outcome: 'fail',
        cause: expect.stringContaining('503'),
      })),
    );
    expect(target.hits.length).toBe(5);
  });

  test('is answered whole to a caller who waits, with what the answers say together', async () => {
    const target = await network.startTarget();
    const wanted = { type: 'https', target: target.url() };
    const fine = await call(createTest, house.member, wanted);
    expect(fine).toMatchObject({ over: true, verdict: 'ok' });
    expect(fine.answers.map(({ continent }) => continent).toSorted()).toEqual(places);
    target.answer({
      is: 'by',
      answer: (_, response) => {
        response.statusCode = target.hits.length % 3 === 1 ? 503 : 200;
        response.end();
      },
    });
    expect(await call(createTest, house.member, wanted)).toMatchObject({
      over: true,
      verdict: 'mixed',
    });
  });

  test('is known to the other coordinators, whoever began it, and to nobody else', async () => {
    const other = await network.startCoordinator();
    const target = await network.startTarget();
    const { id, verdict } = await call(createTest, house.member, {
      type: 'https',
      target: target.url(),
      wait_s: 0,
    });
    expect(verdict).toBeNull();
    const fromThere = async (who: Person) =>
      (await other.gate.execute(getTest, who.caller, rawInput(getTest, { test_id: id }))).body;
    expect(await fromThere(house.member)).toMatchObject({
      over: true,
      verdict: 'ok',
      answers: places.map(() => expect.objectContaining({ outcome: 'ok' })),
    });
    await expect(fromThere(house.admin)).rejects.toThrow(/no such test/);
    await other.close();
  });

  test('opens nothing and leaves nothing behind', async () => {
    const target = await network.startTarget();
    target.answer(broken);
    const { id: trial } = await call(createTest, house.member, {
      type: 'https',
      target: target.url(),
      wait_s: 0,
    });
    await hear(house.member, trial);
    const [row] = await network.sql<
      { monitors: number; incidents: number; results: number; refused: number }[]
    >`
      select (select count(*) from monitors) as monitors, (select count(*) from incidents) as incidents, (select count(*) from journal) as results,
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
    const { id } = await call(createMonitor, house.member, {
      type: 'https',
      target: target.url(),
      config,
      interval_s: 3_600,
    });
    const masked = { ...config, headers: { 'X-Api-Key': '***' } };
    const { id: trial } = await call(createTest, house.member, {
      type: 'https',
      target: target.url('/other'),
      config: masked,
      monitor: id,
    });
    const { answers } = await hear(house.member, trial);
    expect(answers.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok']);
    expect(keys).toEqual(places.map(() => 'a secret of 24 characters'));
    expect(JSON.stringify(answers)).not.toContain('a secret of');
    expect(
      await refusal(createTest, house.member, {
        type: 'https',
        target: elsewhere.url(),
        config: masked,
        monitor: id,
      }),
    ).toBe('config_invalid');
    expect(
      await refusal(createTest, unknownSender.member, {
        type: 'https',
        target: target.url(),
        config: masked,
        monitor: id,
      }),
    ).toBe('monitor_not_found');
    expect(elsewhere.hits.length).toBe(0);
  });

  test('only its caller gets the result; viewers and heartbeats are refused', async () => {
    const target = await network.startTarget();
    const wanted = { type: 'https', target: target.url() };
    const { id: trial } = await call(createTest, house.admin, { ...wanted, wait_s: 0 });
    for (const who of [house.member, unknownSender.admin])
      expect(await refusal(getTest, who, { test_id: trial })).toBe('test_not_found');
    await hear(house.admin, trial);
    expect(await refusal(createTest, house.viewer, wanted)).toBe('role_insufficient');
    expect(await refusal(createTest, house.member, { type: 'heartbeat', target: '' })).toBe(
      'test_impossible',
    );
    expect(
      await refusal(createTest, house.member, {
        ...wanted,
        config: { expect: 1, timeout_ms: 'soon' },
      }),
    ).toBe('config_invalid');
  });

  test('at most ten times a minute for an organisation', async () => {
    const target = await network.startTarget();
    const wanted = { type: 'https', target: target.url(), config: { continents: ['Asia'] } };
    const tried: string[] = [];
    for (let time = 0; time < 11; time += 1)
      tried.push(await refusal(createTest, unknownSender.member, wanted));
    expect(tried).toEqual([...Array.from({ length: 10 }, () => 'taken'), 'test_limit']);
  });
});
