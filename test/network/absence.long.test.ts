import { describe, expect } from 'vitest';
import { eventually, passed } from '../support/eventually.ts';
import {
  alertsOf,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  resultsOf,
  seenFrom,
  watch,
} from '../support/monitors.ts';
import type { Network } from '../support/network.ts';
import { test } from '../support/network-test.ts';
import { speakAs } from '../support/probes.ts';
import { mayBusStandStill } from '../support/services.ts';
import { broken, fine, type Target } from '../support/targets.ts';

const hits = async (target: Target, count: number): Promise<void> => {
  const from = target.hits.length;
  await eventually(() => target.hits.length >= from + count, 40_000);
};

/** What comes due while the coordinator is away (rules 4 and 25). */
describe.concurrent('alerts that come due during an absence', () => {
  const outageWhileAway = async (network: Network, then: typeof fine): Promise<string> => {
    const first = await network.startCoordinator();
    await network.addProbes('Europe', 'Asia');
    const { target, monitor } = await watch(network, 2, { config: { alert_after_s: 3_600 } });
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed);
    expect(await alertsOf(network.sql, monitor)).toEqual([{ event: 'down', state: 'held' }]);
    await first.close();
    await network.sql`update alerts set due_at = now() where monitor_id = ${monitor}`;
    target.answer(then);
    // So long that what is told of then is the past.
    await hits(target, 10);
    await network.startCoordinator();
    return monitor;
  };

  test('a "down" that came due meanwhile is told late when the outage ended meanwhile: the past is decided first', async ({
    network,
  }) => {
    const monitor = await outageWhileAway(network, fine);
    await incidentThat(network.sql, monitor, isResolved, 40_000);
    expect(await alertsOf(network.sql, monitor)).toEqual([
      { event: 'down', state: 'dropped' },
      { event: 'was_down', state: 'due' },
    ]);
  });

  test('a "down" that came due meanwhile goes out when the outage lasts', async ({ network }) => {
    const monitor = await outageWhileAway(network, broken);
    await eventually(
      async () => (await alertsOf(network.sql, monitor))[0]?.state === 'due',
      40_000,
    );
  });
});

/**
 * One notice for an event, also when the database could not be written to in that moment, or a
 * coordinator ended in the midst of it.
 */
describe.concurrent('notices', () => {
  /**
   * The database refuses to write these notices; settles when that was tried, and they are taken
   * again.
   */
  const refuse = async ({ sql }: Network, what: 'insert' | 'update') => {
    await sql.unsafe(`create sequence refusals;
    create function refuse() returns trigger language plpgsql as $$ begin
      perform nextval('refusals'); raise exception 'not now' using errcode = '53100'; end $$;
    create trigger refuse before ${what} on notices for each row execute function refuse()`);
    return async (): Promise<void> => {
      await eventually(async () => (await sql`select 1 from refusals where is_called`).length > 0);
      await sql.unsafe('drop trigger refuse on notices');
    };
  };

  const toBeOpen = ({ sql }: Network, count: number, kind = 'probe_lost') =>
    eventually(
      async () =>
        (await sql`select 1 from notices where kind = ${kind} and ended_at is null`).length ===
        count,
    );

  const quick = { timing: { lostAfterMs: 3_000 } };

  describe('the notice of a lost probe', () => {
    test('ends with its return, although that could not be written down at first', async ({
      network,
    }) => {
      await network.startCoordinator(quick);
      await network.addProbes('Asia', 'Africa');
      const { made, close } = await network.addProbe('Europe');
      await close();
      await toBeOpen(network, 1);
      const refused = await refuse(network, 'update');
      await network.startProbe(made);
      await refused();
      await toBeOpen(network, 0);
    });

    test('is opened, although it could not be written at first', async ({ network }) => {
      await network.startCoordinator(quick);
      await network.addProbes('Asia', 'Africa');
      const { close } = await network.addProbe('Europe');
      const refused = await refuse(network, 'insert');
      await close();
      await refused();
      await toBeOpen(network, 1);
    });

    test('ends, although another coordinator opened it and ended before it told any other', async ({
      network,
    }) => {
      await network.startCoordinator(quick);
      const { made } = await network.addProbe('Europe');
      await network.sql`insert into notices (kind, subject, message) values ('probe_lost', ${made.id}, 'of another time')`;
      await network.startCoordinator(quick);
      await toBeOpen(network, 0);
    });
  });

  test('the notice of a silent bus ends when the bus is heard, although the coordinator that opened it was killed before', async ({
    network,
  }) => {
    await network.sql`insert into notices (kind, subject, message) values ('bus_silent', 'bus', 'Most probes fell silent at once')`;
    await network.startCoordinator();
    await network.addProbe('Europe');
    await toBeOpen(network, 0, 'bus_silent');
    expect(await network.sql`select 1 from notices where kind <> 'time_zones_old'`).toHaveLength(1);
  });
});

/**
 * A coordinator that reaches the database and not the bus decides about nothing: whoever can takes
 * its share.
 */
describe.concurrent('a coordinator that lost the bus', () => {
  /** Two, each with a relay to the bus. */
  const begin = async (network: Network) => {
    const relays = [await network.startRelay(), await network.startRelay()];
    for (const { url } of relays) await network.startCoordinatorProcess({ NATS_URL: url });
    await eventually(async () => (await shares(network)).join() === '16,16');
    return relays;
  };

  /** How many partitions each owner holds whose lease is in force. */
  const shares = async ({ sql }: Network): Promise<number[]> => {
    const rows = await sql<{ held: number }[]>`
    select count(*) as held from leases where expires_at > now() and owner is not null group by owner order by held desc`;
    return rows.map(({ held }) => held);
  };

  const owners = async ({ sql }: Network): Promise<string> => {
    const rows = await sql<{ owner: string }[]>`select owner from leases order by partition`;
    return rows.map(({ owner }) => owner).join();
  };

  test('leaves its partitions to the one that has it, which confirms an outage of any monitor, and takes its share again', async ({
    network,
    target,
  }) => {
    const relays = await begin(network);
    await network.addProbes('Asia', 'Europe');
    const all: string[] = [];
    for (let nth = 0; nth < 8; nth += 1)
      all.push(await network.addMonitor({ target: target.url(`/${nth}`), interval_s: 1 }));
    for (const monitor of all) await seenFrom(network.sql, monitor, 2);
    relays[0]?.cut();
    await eventually(async () => (await shares(network)).join() === '32', 40_000);
    target.answer(broken);
    for (const monitor of all) await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    relays[0]?.heal();
    await eventually(async () => (await shares(network)).join() === '16,16', 40_000);
  });

  test('keeps them while no coordinator has it', async ({ network }) => {
    const relays = await begin(network);
    const before = await owners(network);
    for (const relay of relays) relay.cut();
    await passed(20_000);
    expect(await owners(network)).toBe(before);
    expect(await shares(network)).toEqual([16, 16]);
  });
});

/**
 * Rule 16 must not take the first other host of a great outage for sick: every failure begins while
 * the others' last checks still passed.
 */
test.concurrent('when everything fails at once, each outage is confirmed, and no probe is quarantined for having seen them first', async ({
  network,
}) => {
  const count = 12;
  const target = await network.startTarget({ host: '0.0.0.0' });
  await network.startCoordinator();
  await network.addProbes('Asia', 'Europe');
  const hosts = Array.from(
    { length: count },
    (_, index) => `http://127.0.1.${index + 1}:${target.port}/`,
  );
  const monitors = await Promise.all(
    hosts.map((url) => network.addMonitor({ target: url, interval_s: 2 })),
  );
  for (const monitor of monitors) await seenFrom(network.sql, monitor, 2);
  target.answer(broken);
  const open = () =>
    network.sql`select distinct monitor_id from incidents where confirmed_at is not null and resolved_at is null`;
  await eventually(async () => (await open()).length === count, 30_000);
  // Once more round for everybody, so that whoever would fall sick has had the time.
  const before = target.hits.length;
  await eventually(() => target.hits.length >= before + 2 * count, 30_000);
  expect(
    await network.sql`select kind, message from notices where kind = 'probe_quarantined'`,
  ).toEqual([]);
  expect(await network.sql`select name from probes where quarantined_at is not null`).toEqual([]);
  expect(await open()).toHaveLength(count);
});

/** Parts that come, go, fall silent, or say things twice and late. */

/** Presence comes every second here: who is late with it on a busy machine is not lost yet. */
const soonLost = { lostAfterMs: 5_000 };

describe.concurrent('results', () => {
  test('that come twice change nothing, and those that come an hour late are in the charts and alert no one', async ({
    network,
  }) => {
    await network.startCoordinator();
    const europe = await network.addProbe('Europe');
    await network.addProbe('Asia');
    const { monitor } = await watch(network);
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
    const isOld = ({ at }: { at: number }) => Number(at) < hourAgo + 60_000;
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
    network,
    target,
  }) => {
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
  const begin = async (network: Network) => {
    const first = await network.startCoordinator();
    await network.addProbes('Europe', 'Asia');
    return { first, ...(await watch(network)) };
  };

  test('dates the outage right that began and is still there', async ({ network }) => {
    const { target, monitor, first } = await begin(network);
    await first.close();
    target.answer(broken);
    await hits(target, 6);
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

  test('records the outage that came and went, resolved, and tells of it late', async ({
    network,
  }) => {
    const { target, monitor, first } = await begin(network);
    await first.close();
    target.answer(broken);
    await hits(target, 5);
    target.answer(fine);
    const healed = target.hits.length;
    // Long enough ago to be the past when somebody hears of it.
    await hits(target, 6);
    await network.startCoordinator({ timing: { lateMs: 3_000 } });
    const incident = await incidentThat(network.sql, monitor, isResolved, 40_000);
    expect(incident.confirmed_at).not.toBeNull();
    // By what was seen then, and not when somebody heard of it.
    expect(Number(incident.resolved_at)).toBeLessThan(target.hits[healed + 4]?.at ?? 0);
    expect(await alertsOf(network.sql, monitor)).toEqual([{ event: 'was_down', state: 'due' }]);
  });
});

describe.concurrent('a probe', () => {
  test('that joins shares the work within a second, and the others check what a lost one checked', async ({
    network,
    target,
  }) => {
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
    network,
    target,
  }) => {
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
