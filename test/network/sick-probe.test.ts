import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ChildProgram } from '../support/child-program.ts';
import type { CoordinatorProcess } from '../support/coordinator-process.ts';
import { eventually, passed } from '../support/eventually.ts';
import { alertsOf, incidentsOf, incidentThat, isResolved, resultsOf, seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { canCutNetwork, startProbeProcess } from '../support/probe-process.ts';
import { startTargetThread, type TargetThread } from '../support/target-thread.ts';
import { broken, fine } from '../support/targets.ts';

/** Rules 2, 7 and 16: what is wrong with the watchers is told once, to the operator, and never to those who are watched. */

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
    for (let made = 0; made < count; made += 50) {
      // Each on a host of its own: a probe is judged by how many of its hosts it alone sees failing.
      const some = Array.from(
        { length: 50 },
        (_, index) => `http://127.1.${Math.floor((made + index) / 250)}.${1 + ((made + index) % 250)}:${target.port}/`,
      );
      monitors.push(...(await Promise.all(some.map((url) => network.addMonitor({ target: url, interval_s: 5 })))));
    }
    coordinator = await network.startCoordinatorProcess();
    // Each part by itself, as everywhere but in tests: two hundred checks a second in one process would be late for one another.
    for (const continent of places) probes.push(await startProbeProcess(await network.makeProbe(continent)));
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
    const rows = await network.sql`select distinct monitor_key, probe_key from results where outcome = 0`;
    return rows.length >= count * places.length;
  };
  const notices = () =>
    network.sql<{ kind: string; message: string }[]>`select kind, message from notices where kind <> 'time_zones_old' order by id`;

  test('and a coordinator that was frozen for longer than probes may be silent: no alert, no notice, no incident', async () => {
    await eventually(async () => (await network.sql`select distinct probe_key from results`).length === places.length, 40_000);
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
    // All that it opened alone closes with that reason, and it opens nothing more while it goes on failing.
    await eventually(async () => (await network.sql`select 1 from incidents where resolved_at is null`).length === 0, 30_000);
    const before = target.hits.length;
    await eventually(() => target.hits.slice(before).filter(({ continent }) => continent === 'Asia').length >= count / 4, 30_000);
    expect((await notices()).map(({ kind }) => kind)).toEqual(['probe_quarantined']);
    expect(await network.sql`select 1 from alerts`).toHaveLength(0);
    expect(await network.sql`select 1 from incidents where confirmed_at is not null or resolved_at is null`).toHaveLength(0);
    const notes = await network.sql<{ note: string }[]>`select distinct note from incidents`;
    expect(notes.map(({ note }) => note)).toEqual([expect.stringContaining('quarantine')]);
  });

  test('and that probe, quarantined, confirms no outage that only one other continent sees; two others do', async () => {
    const [lonely = '', real = ''] = monitors;
    // A limit of a second: at a shorter one, a full machine alone is late.
    await network.editMonitor(lonely, { interval_s: 2 });
    await network.editMonitor(real, { target: `http://127.0.0.1:${target.port}/real`, interval_s: 2 });
    await target.answer({ is: 'hosts', named: { '127.1.0.1': broken }, others: fine }, ['Europe']);
    await incidentThat(network.sql, lonely, ({ resolved_at }) => resolved_at === null, 40_000);
    const before = (await resultsOf(network.sql, lonely)).length;
    await eventually(async () => (await resultsOf(network.sql, lonely)).length >= before + 6, 40_000);
    expect((await incidentsOf(network.sql, lonely)).filter(({ confirmed_at }) => confirmed_at !== null)).toEqual([]);
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

describe.skipIf(!canCutNetwork())('a probe whose network fails every check', () => {
  test('says "unknown" each time: it opens nothing, confirms nothing, and is not counted against the target', async () => {
    const network = await createNetwork();
    const target = await network.startTarget();
    await network.startCoordinator();
    await network.addProbe('Europe');
    const made = await network.makeProbe('Asia');
    const first = await startProbeProcess(made);
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
    // One that is told to stop hands over, and has nothing to check before it is back on the bus.
    first.signal('SIGKILL');
    await first.exited;

    const cutAt = Date.now();
    const cut = await startProbeProcess(made, { withoutNetwork: true });
    target.answer(broken, ['Europe']);
    await incidentThat(network.sql, monitor, () => true);
    await eventually(() => target.hits.filter(({ at, continent }) => at > cutAt && continent === 'Europe').length >= 8, 40_000);
    target.answer(fine);
    cut.signal('SIGTERM');
    await cut.exited;
    const cutUntil = Date.now();

    const last = await startProbeProcess(made);
    const ofAsia = async () =>
      (await resultsOf(network.sql, monitor)).filter(({ continent, at }) => continent === 'Asia' && Number(at) > cutAt);
    await eventually(async () => (await ofAsia()).some(({ at, outcome }) => outcome === 0 && Number(at) > cutUntil), 40_000);
    const within = (await ofAsia()).filter(({ at }) => Number(at) < cutUntil);
    expect(within.length).toBeGreaterThanOrEqual(2);
    expect(new Set(within.map(({ outcome }) => outcome))).toEqual(new Set([2]));
    await incidentThat(network.sql, monitor, isResolved, 40_000);
    expect((await incidentsOf(network.sql, monitor)).filter(({ confirmed_at }) => confirmed_at !== null)).toEqual([]);
    expect(await alertsOf(network.sql, monitor)).toEqual([]);
    last.signal('SIGTERM');
    await last.exited;
    await network.close();
  });
});
