import { afterAll, beforeAll, describe, expect } from 'vitest';
import { trustProbe } from '../../coordinator/probes/contract.ts';
import { createDirectory } from '../../coordinator/probes/directory.ts';
import { rawInput } from '../../shared/api/operation.ts';
import { eventually, passed } from '../support/eventually.ts';
import {
  alertsOf,
  checkAnotherHost,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  resultsOf,
  watch,
} from '../support/monitors.ts';
import {
  type CoordinatorProcess,
  createNetwork,
  type MadeProbe,
  type Network,
} from '../support/network.ts';
import { test } from '../support/network-test.ts';
import { canCutNetwork, measuring, startProbeProcess } from '../support/probes.ts';
import type { ChildProgram } from '../support/processes.ts';
import { storedChecks, turnsBetween } from '../support/stored-checks.ts';
import { startTargetThread, type TargetThread } from '../support/target-thread.ts';
import { broken, fine } from '../support/targets.ts';

/**
 * Rules 2, 7 and 16: what is wrong with the watchers is told once, to the operator, and never to
 * those who are watched.
 */
describe('a sick probe', () => {
  const places = ['Asia', 'Europe', 'North America'] as const;
  const count = 1_000;

  describe('a thousand monitors', () => {
    let network: Network;
    let coordinator: CoordinatorProcess;
    let target: TargetThread;
    const probes: ChildProgram[] = [];
    const monitors: string[] = [];

    beforeAll(async () => {
      network = await createNetwork();
      target = await startTargetThread('0.0.0.0');
      coordinator = await network.startCoordinatorProcess();
      // Each part by itself, as everywhere but in tests: two hundred checks a second in one process
      // would be late for one another.
      for (const continent of places)
        probes.push(await startProbeProcess(await network.makeProbe(continent)));
      // Until what their hosts allow is known, nobody could check such addresses.
      await eventually(
        async () =>
          (await network.sql`select 1 from probes where allowed_cidrs <> '{}'`).length ===
          places.length,
        60_000,
      );
      for (let made = 0; made < count; made += 50) {
        // Each on a host of its own: a probe is judged by how many of its hosts it alone sees
        // failing.
        const some = Array.from(
          { length: 50 },
          (_, index) =>
            `http://127.1.${Math.floor((made + index) / 250)}.${1 + ((made + index) % 250)}:${target.port}/`,
        );
        monitors.push(
          ...(await Promise.all(
            some.map((url) => network.addMonitor({ target: url, interval_s: 5 })),
          )),
        );
      }
    });
    afterAll(async () => {
      for (const { signal, exited } of probes) {
        signal('SIGKILL');
        await exited;
      }
      await network.close();
      await target.close();
    });

    const seenByAll = async (): Promise<boolean> => {
      const passes = (await storedChecks(network.sql)).filter(({ outcome }) => outcome === 'ok');
      const pairs = new Set(passes.map(({ key, probe_id }) => `${key} ${probe_id}`));
      return pairs.size >= count * places.length;
    };
    const notices = () =>
      network.sql<
        { kind: string; message: string }[]
      >`select kind, message from notices where kind <> 'time_zones_old' order by id`;

    test('and a coordinator that was frozen for longer than probes may be silent: no alert, no notice, no incident', async () => {
      await eventually(
        async () =>
          new Set((await storedChecks(network.sql)).map(({ probe_id }) => probe_id)).size ===
          places.length,
        40_000,
      );
      coordinator.signal('SIGSTOP');
      await passed(17_000);
      coordinator.signal('SIGCONT');
      await eventually(seenByAll, 30_000);
      expect(await notices()).toEqual([]);
      expect(await network.sql`select 1 from incidents`).toHaveLength(0);
      expect(await network.sql`select 1 from alerts`).toHaveLength(0);
    });

    test('and one continent whose probe sees everything failing: one notice, to the operator, and not one alert', async () => {
      await target.answer({ is: 'drop' }, ['Asia']);
      await eventually(async () => (await notices()).length > 0, 30_000);
      // All that it opened alone closes with that reason, and it opens nothing more while it goes
      // on failing.
      await eventually(
        async () =>
          (await network.sql`select 1 from incidents where resolved_at is null`).length === 0,
        30_000,
      );
      const before = target.hits.length;
      await eventually(
        () =>
          target.hits.slice(before).filter(({ continent }) => continent === 'Asia').length >=
          count / 4,
        30_000,
      );
      expect((await notices()).map(({ kind }) => kind)).toEqual(['probe_quarantined']);
      expect(await network.sql`select 1 from alerts`).toHaveLength(0);
      expect(
        await network.sql`select 1 from incidents where confirmed_at is not null or resolved_at is null`,
      ).toHaveLength(0);
      const notes = await network.sql<{ note: string }[]>`select distinct note from incidents`;
      expect(notes.map(({ note }) => note)).toEqual([expect.stringContaining('quarantine')]);
    });

    test('and that probe, quarantined, confirms no outage that only one other continent sees; two others do', async () => {
      const [lonely = '', real = ''] = monitors;
      // A limit of a second: at a shorter one, a full machine alone is late.
      await network.editMonitor(lonely, { interval_s: 2 });
      await network.editMonitor(real, {
        target: `http://127.0.0.1:${target.port}/real`,
        interval_s: 2,
      });
      await target.answer({ is: 'hosts', named: { '127.1.0.1': broken }, others: fine }, [
        'Europe',
      ]);
      await incidentThat(network.sql, lonely, ({ resolved_at }) => resolved_at === null, 40_000);
      const before = (await resultsOf(network.sql, lonely)).length;
      await eventually(
        async () => (await resultsOf(network.sql, lonely)).length >= before + 6,
        40_000,
      );
      expect(
        (await incidentsOf(network.sql, lonely)).filter(
          ({ confirmed_at }) => confirmed_at !== null,
        ),
      ).toEqual([]);
      await target.answer(broken, ['Europe', 'North America']);
      const { confirmed_continent, seen_continent } = await incidentThat(
        network.sql,
        real,
        ({ confirmed_at }) => confirmed_at !== null,
        40_000,
      );
      expect([seen_continent, confirmed_continent]).not.toContain('Asia');
    });
  });
});

test
  .skipIf(!canCutNetwork())
  .concurrent(
    'a probe whose network fails every check says "unknown" each time: it opens nothing, confirms nothing, and is not counted against the target',
    async ({ network }) => {
      await network.startCoordinator();
      await network.addProbe('Europe');
      const made = await network.makeProbe('Asia');
      const first = await startProbeProcess(made);
      const { target, monitor } = await watch(network);
      // One that is told to stop hands over, and has nothing to check before it is back on the bus.
      first.signal('SIGKILL');
      await first.exited;

      const cutAt = Date.now();
      const cut = await startProbeProcess(made, { withoutNetwork: true });
      target.answer(broken, ['Europe']);
      await incidentThat(network.sql, monitor, () => true);
      await eventually(
        () =>
          target.hits.filter(({ at, continent }) => at > cutAt && continent === 'Europe').length >=
          8,
        40_000,
      );
      target.answer(fine);
      cut.signal('SIGTERM');
      await cut.exited;
      const cutUntil = Date.now();

      const last = await startProbeProcess(made);
      const ofAsia = async () =>
        (await resultsOf(network.sql, monitor)).filter(
          ({ continent, at }) => continent === 'Asia' && Number(at) > cutAt,
        );
      await eventually(
        async () =>
          (await ofAsia()).some(({ at, outcome }) => outcome === 0 && Number(at) > cutUntil),
        40_000,
      );
      const within = (await ofAsia()).filter(({ at }) => Number(at) < cutUntil);
      expect(within.length).toBeGreaterThanOrEqual(2);
      expect(new Set(within.map(({ outcome }) => outcome))).toEqual(new Set([2]));
      await incidentThat(network.sql, monitor, isResolved, 40_000);
      expect(
        (await incidentsOf(network.sql, monitor)).filter(
          ({ confirmed_at }) => confirmed_at !== null,
        ),
      ).toEqual([]);
      expect(await alertsOf(network.sql, monitor)).toEqual([]);
      last.signal('SIGTERM');
      await last.exited;
    },
  );

/** Each is a process that can be killed. */
test.concurrent('a private place with two probes goes on without one that is killed: 20 s later no turn is left out, none when one stops, and no incident came of it', async ({
  network,
  target,
}) => {
  const every = 2_000;
  await network.startCoordinator();
  const first = await network.makeProbe('Europe', 'office 1', network.organisation);
  const second = await network.makeProbe('Europe', 'office 2', network.organisation, first.id);
  const start = async (made: MadeProbe) => ({ made, process: await startProbeProcess(made) });
  const running = [await start(first), await start(second)];
  const monitors: string[] = [];
  for (let count = 0; count < 12; count += 1)
    monitors.push(
      await network.addMonitor({
        target: target.url(),
        interval_s: every / 1_000,
        config: { probe: first.id },
      }),
    );
  const checkedBy = async (since: number): Promise<readonly string[]> => {
    const checks = await storedChecks(network.sql, { since });
    return [...new Set(checks.map(({ probe }) => probe))].sort();
  };
  const allChecked = async (since: number): Promise<boolean> => {
    const checks = await storedChecks(network.sql, { since });
    const counts = Map.groupBy(checks, ({ monitor }) => monitor);
    return [...counts.values()].filter(({ length }) => length > 2).length === monitors.length;
  };
  await eventually(async () => (await checkedBy(0)).length === 2, 30_000);
  await eventually(() => allChecked(0), 30_000);
  const [killed, other] = running;
  killed?.process.signal('SIGKILL');
  await killed?.process.exited;
  const lost = Date.now() + 20_000;
  const seen = lost + 5 * every;
  await eventually(() => allChecked(seen), 60_000);
  expect((await turnsBetween(network.sql, { from: lost, to: seen })).lost).toEqual([]);
  expect(await checkedBy(lost)).toEqual([other?.made.name]);
  running[0] = await start(first);
  const back = Date.now();
  await eventually(async () => (await checkedBy(back)).length === 2, 30_000);
  const stop = async (process: ChildProgram | undefined): Promise<number> => {
    process?.signal('SIGTERM');
    await process?.exited;
    return Date.now();
  };
  // One that says that it stops hands over at once.
  const from = Date.now();
  const stopped = await stop(running[0]?.process);
  await eventually(() => allChecked(stopped), 60_000);
  const to = stopped + every;
  expect((await turnsBetween(network.sql, { from, to })).lost).toEqual([]);
  await stop(running[1]?.process);
  expect(await network.sql`select * from incidents`).toEqual([]);
});

/**
 * Rule 16, with every part real but the ways between the probes, which are all on this host: whose
 * place is doubted confirms nothing.
 */
test.concurrent('a probe whose place is doubted confirms no outage, and confirms it after the word of the operator', async ({
  network,
}) => {
  const { sql } = network;
  const app = await network.startCoordinator();
  const made: MadeProbe[] = [];
  for (const continent of ['Europe', 'Africa', 'Oceania'] as const)
    made.push((await network.addProbe(continent)).made);
  await checkAnotherHost(network, 3);
  const [, , suva] = made;
  const { target, monitor } = await watch(network, 3);
  // They are all at 127.0.0.1, which is nowhere: the coordinator itself doubts nobody.
  const directory = await createDirectory({ sql, log: network.log });
  const addresses = new Map(
    made.map(({ name }, index) => [
      name,
      ['198.41.0.4', '199.9.14.201', '192.33.4.12'][index] ?? '',
    ]),
  );
  const near = { addresses, asked: [], isLeader: true, way: () => 30 };
  const { round } = measuring({ sql, directory, clock: { now: () => Date.now() }, made: near });
  await round();
  await round();
  const doubted = await sql<{ id: string }[]>`select id from probes where doubted_at is not null`;
  expect(doubted.map(({ id }) => id)).toEqual([suva?.id]);
  // The coordinator has heard of it: what the probe sees counts as unknown from now on.
  await eventually(async () =>
    (await resultsOf(sql, monitor)).some(
      ({ continent, outcome }) => continent === 'Oceania' && outcome === 2,
    ),
  );
  target.answer(broken, ['Europe', 'Oceania']);
  const failuresOf = async (continent: string) =>
    (await resultsOf(sql, monitor)).filter(
      (result) => result.continent === continent && result.outcome === 1,
    ).length;
  const seen = async () =>
    Math.min(
      await failuresOf('Europe'),
      (await resultsOf(sql, monitor)).filter((one) => one.continent === 'Oceania').length,
    );
  const before = await seen();
  await eventually(async () => (await seen()) >= before + 5, 40_000);
  expect(
    (await incidentsOf(sql, monitor)).filter(({ confirmed_at }) => confirmed_at !== null),
  ).toEqual([]);

  const word = rawInput(trustProbe, { probe_id: suva?.id });
  await app.gate.executeForInstallation(trustProbe, word);
  const { seen_continent, confirmed_continent } = await incidentThat(
    sql,
    monitor,
    isConfirmed,
    40_000,
  );
  expect([seen_continent, confirmed_continent].toSorted()).toEqual(['Europe', 'Oceania']);
});
