import { describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  alertsOf,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  resultsOf,
  seenFrom,
} from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { speakAs } from '../support/probes.ts';
import { mayBusStandStill } from '../support/services.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/** Parts that come, go, fall silent, or say things twice and late. */

/** Presence comes every second here: who is late with it on a busy machine is not lost yet. */
const soonLost = { lostAfterMs: 5_000 };

const begin = async (
  atEnd: (end: () => Promise<void>) => void,
): Promise<{ network: Network; target: Target }> => {
  const network = await createNetwork();
  atEnd(network.close);
  return { network, target: await network.startTarget() };
};

describe.concurrent('results', () => {
  test('that come twice change nothing, and those that come an hour late are in the charts and alert no one', async ({
    onTestFinished,
  }) => {
    const { network, target } = await begin(onTestFinished);
    await network.startCoordinator();
    const europe = await network.addProbe('Europe');
    await network.addProbe('Asia');
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
    const other = await network.makeProbe('Europe', 'returning');
    const probe = await speakAs(other);
    const hourAgo = Date.now() - 3_600_000;
    await network.sql`update monitors set created_at = ${new Date(hourAgo - 60_000)} where id = ${monitor}`;
    const late = [1, 2, 3].map((seq) => ({
      seq,
      at: hourAgo + seq * 1_000,
      outcome: seq === 2 ? ('fail' as const) : ('ok' as const),
    }));
    await probe.say(monitor, late, null);
    await probe.say(monitor, late, null);
    await probe.say(monitor, [{ seq: 4, at: hourAgo + 4_000, outcome: 'ok' }], 3);
    const isOld = ({ at }: { at: Date }) => Number(at) < hourAgo + 60_000;
    await eventually(async () => (await resultsOf(network.sql, monitor)).filter(isOld).length >= 4);
    expect((await resultsOf(network.sql, monitor)).filter(isOld)).toHaveLength(4);
    expect(
      (await incidentsOf(network.sql, monitor)).filter(({ resolved_at }) => resolved_at === null),
    ).toEqual([]);
    expect(await alertsOf(network.sql, monitor)).toEqual([]);
    await probe.close();
    await europe.close();
  });

  test('whose predecessors are missing are not accepted, and are accepted once those came', async ({
    onTestFinished,
  }) => {
    const { network, target } = await begin(onTestFinished);
    await network.startCoordinator();
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 60 });
    const probe = await speakAs(await network.makeProbe('Europe'));
    const now = Date.now();
    await probe.say(monitor, [{ seq: 7, at: now, outcome: 'ok' }], 6);
    await probe.say(monitor, [{ seq: 6, at: now - 1_000, outcome: 'ok' }], null);
    await eventually(async () => (await resultsOf(network.sql, monitor)).length === 1);
    await probe.say(monitor, [{ seq: 7, at: now, outcome: 'ok' }], 6);
    await eventually(async () => (await resultsOf(network.sql, monitor)).length === 2);
    await probe.close();
  });
});

describe.concurrent('a coordinator that was away', () => {
  test('dates the outage right that began and is still there', async ({ onTestFinished }) => {
    const { network, target } = await begin(onTestFinished);
    const first = await network.startCoordinator();
    await network.addProbe('Europe');
    await network.addProbe('Asia');
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
    await first.close();
    target.answer(broken);
    const from = target.hits.length;
    await eventually(() => target.hits.length >= from + 6, 40_000);
    await network.startCoordinator();
    const { id } = await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    await eventually(
      async () =>
        (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1).length >= 6,
    );
    const fails = (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1);
    const second = fails.find(({ continent }) => continent !== fails[0]?.continent);
    expect(await incidentsOf(network.sql, monitor)).toMatchObject([
      { id, started_at: fails[0]?.at, confirmed_at: second?.at },
    ]);
    await eventually(
      async () => (await alertsOf(network.sql, monitor))[0]?.state === 'due',
      40_000,
    );
  });

  test('records the outage that came and went, resolved and without an alert', async ({
    onTestFinished,
  }) => {
    const { network, target } = await begin(onTestFinished);
    const first = await network.startCoordinator();
    await network.addProbe('Europe');
    await network.addProbe('Asia');
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
    await first.close();
    const hits = async (count: number) => {
      const from = target.hits.length;
      await eventually(() => target.hits.length >= from + count, 30_000);
    };
    target.answer(broken);
    await hits(5);
    target.answer(fine);
    const healed = target.hits.length;
    // Long enough ago to be the past when somebody hears of it.
    await hits(6);
    await network.startCoordinator({ timing: { lateMs: 3_000 } });
    const incident = await incidentThat(network.sql, monitor, isResolved, 40_000);
    expect(incident.confirmed_at).not.toBeNull();
    // By what was seen then, and not when somebody heard of it.
    expect(Number(incident.resolved_at)).toBeLessThan(target.hits[healed + 4]?.at ?? 0);
    expect(await alertsOf(network.sql, monitor)).toEqual([]);
  });
});

describe.concurrent('a probe', () => {
  test('that joins shares the work within a second, and the others check what a lost one checked', async ({
    onTestFinished,
  }) => {
    const { network, target } = await begin(onTestFinished);
    await network.startCoordinator({ timing: soonLost });
    const frankfurt = await network.addProbe('Europe', 'Frankfurt');
    const monitors = [];
    for (let count = 0; count < 12; count += 1)
      monitors.push(await network.addMonitor({ target: target.url(`/${count}`), interval_s: 2 }));
    const byAgent = (name: string, since: number) =>
      new Set(
        target.hits
          .filter(({ agent, at }) => at >= since && agent.includes(`probe=${name};`))
          .map(({ url }) => url),
      );
    await eventually(() => byAgent('Frankfurt', 0).size === 12);
    await network.addProbe('Europe', 'Paris');
    const joinedAt = Date.now();
    const shared = await eventually(() => {
      const paris = byAgent('Paris', joinedAt);
      return paris.size > 0 && byAgent('Frankfurt', joinedAt).size + paris.size >= 12
        ? paris
        : undefined;
    });
    expect(shared.size).toBeLessThan(12);
    await frankfurt.close();
    const leftAt = Date.now();
    await eventually(() => byAgent('Paris', leftAt).size === 12, 40_000);
    const notices = await network.sql`select kind, message from notices where kind = 'probe_lost'`;
    expect(notices).toHaveLength(1);
    expect(notices[0]?.message).toContain('Frankfurt');
  });

  test('whose companions are all lost confirms nothing: the incident stays unconfirmed, and the operator is notified once', async ({
    onTestFinished,
  }) => {
    const { network, target } = await begin(onTestFinished);
    await network.startCoordinator({ timing: soonLost });
    await network.addProbe('Europe');
    const asia = await network.addProbe('Asia');
    // What a lonely continent saw ends as no longer observed after two turns: with turns of a
    // second, a short standstill is that long.
    const interval_s = mayBusStandStill() ? 15 : 3;
    const monitors = [
      await network.addMonitor({ target: target.url('/1'), interval_s }),
      await network.addMonitor({ target: target.url('/2'), interval_s }),
    ];
    for (const monitor of monitors) await seenFrom(network.sql, monitor, 2);
    await asia.close();
    await eventually(
      async () => (await network.sql`select 1 from notices where kind = 'probe_lost'`).length === 1,
      40_000,
    );
    target.answer(broken);
    for (const monitor of monitors) await incidentThat(network.sql, monitor, () => true);
    for (const monitor of monitors)
      await eventually(
        async () =>
          (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1).length >=
          4,
        40_000,
      );
    for (const monitor of monitors)
      expect(await incidentsOf(network.sql, monitor)).toMatchObject([
        { confirmed_at: null, resolved_at: null },
      ]);
    const notices =
      await network.sql`select subject from notices where kind = 'continent_alone' and ended_at is null`;
    expect(notices.map(({ subject }) => subject)).toEqual(['Europe']);
  });
});
