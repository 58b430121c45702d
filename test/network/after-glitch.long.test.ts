import { describe, expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  checkAnotherHost,
  incidentsOf,
  incidentThat,
  isConfirmed,
  resultsOf,
  watch,
} from '../support/monitors.ts';
import type { Network } from '../support/network.ts';
import { test } from '../support/network-test.ts';
import { broken } from '../support/targets.ts';

/** After a glitch of the bus, what probes kept waits for those that are still away (rule 4). */
test.concurrent('an outage that begins after a glitch is confirmed although one place stays away, and dated by whoever saw it first', async ({
  network,
}) => {
  const relays = {
    Africa: await network.startRelay(),
    Asia: await network.startRelay(),
    Europe: await network.startRelay(),
  };
  // Nobody is given up for lost in this test: who is away is waited for as long as may be.
  await network.startCoordinator({ timing: { lostAfterMs: 120_000 } });
  for (const continent of ['Africa', 'Asia', 'Europe'] as const)
    await network.addProbe(continent, continent, { url: relays[continent].url });
  await checkAnotherHost(network, 3);
  const { target, monitor } = await watch(network, 3);
  const hits = async (count: number): Promise<void> => {
    const from = target.hits.length;
    await eventually(() => target.hits.length >= from + count, 30_000);
  };
  for (const relay of Object.values(relays)) relay.cut();
  await hits(7);
  relays.Asia.heal();
  relays.Europe.heal();
  await hits(5);
  const brokeAt = Date.now();
  target.answer(broken);
  // What was kept waits for Africa, but for no longer than thirty seconds.
  const { id } = await incidentThat(network.sql, monitor, isConfirmed, 60_000);
  expect(
    (await resultsOf(network.sql, monitor)).some(
      ({ continent, at }) => continent === 'Africa' && Number(at) > brokeAt,
    ),
  ).toBe(false);
  relays.Africa.heal();
  await eventually(async () => {
    const fails = (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1);
    return fails.some(({ continent }) => continent === 'Africa');
  }, 30_000);
  const rows = await resultsOf(network.sql, monitor);
  const fails = rows
    .filter(({ outcome }) => outcome === 1)
    .toSorted((a, b) => Number(a.at) - Number(b.at));
  const second = fails.find(({ continent }) => continent !== fails[0]?.continent);
  const [incident, ...others] = await incidentsOf(network.sql, monitor);
  expect(others).toEqual([]);
  expect(incident).toMatchObject({
    id,
    seen_continent: fails[0]?.continent,
    confirmed_continent: second?.continent,
  });
  expect(Number(incident?.started_at)).toBe(Number(fails[0]?.at));
  // By its first failure, or by the next if its probe had to check other targets first (rule 46).
  const confirmedAt = Number(incident?.confirmed_at);
  expect(
    fails.flatMap(({ continent, at }) => (continent === second?.continent ? [Number(at)] : [])),
  ).toContain(confirmedAt);
  expect(confirmedAt - Number(second?.at)).toBeLessThanOrEqual(2_000);
  const names = rows.map(({ continent, at }) => `${continent} ${Number(at)}`);
  expect(new Set(names).size).toBe(names.length);
});

/**
 * Rule 3: what one probe alone kept, and hands over when the outage is long confirmed, dates it
 * anew.
 */
describe.concurrent('late results that retime an outage', () => {
  /** Europe is cut off, sees the outage, and only then do the others, who confirm it. */
  const outageThatEuropeSawFirst = async (network: Network) => {
    const relay = await network.startRelay();
    const coordinator = await network.startCoordinator();
    await network.startProbe(await network.makeProbe('Europe'), { url: relay.url });
    await network.addProbes('Asia', 'Africa');
    await checkAnotherHost(network, 3);
    const { target, monitor } = await watch(network, 3);
    relay.cut();
    target.answer(broken, ['Europe']);
    const since = target.hits.length;
    await eventually(
      () => target.hits.slice(since).some(({ continent }) => continent === 'Europe'),
      30_000,
    );
    target.answer(broken);
    const { seen_continent } = await incidentThat(network.sql, monitor, isConfirmed, 30_000);
    expect(seen_continent).not.toBe('Europe');
    return { monitor, relay, coordinator };
  };

  const expectDatedByAll = async ({ sql }: Network, monitor: string): Promise<void> => {
    const { started_at, confirmed_at, confirmed_continent } = await incidentThat(
      sql,
      monitor,
      (incident) => isConfirmed(incident) && incident.seen_continent === 'Europe',
      60_000,
    );
    const fails = (await resultsOf(sql, monitor)).filter(({ outcome }) => outcome === 1);
    const firstOf = (isMeant: (continent: string) => boolean) =>
      Math.min(...fails.flatMap(({ continent, at }) => (isMeant(continent) ? [Number(at)] : [])));
    expect([Number(started_at), Number(confirmed_at)]).toEqual([
      firstOf((continent) => continent === 'Europe'),
      firstOf((continent) => continent !== 'Europe'),
    ]);
    expect(confirmed_continent).not.toBe('Europe');
    expect(await incidentsOf(sql, monitor)).toHaveLength(1);
    const [seen, confirmed] = await sql<{ at: number; evidence: unknown }[]>`
    select e.at, e.evidence from incident_evidence e join incidents i on i.id = e.incident_id
    where i.monitor_id = ${monitor} and e.part <> 'matrix' order by e.part = 'confirmed'`;
    expect([Number(seen?.at), Number(confirmed?.at)]).toEqual([
      Number(started_at),
      Number(confirmed_at),
    ]);
    expect([seen?.evidence, confirmed?.evidence]).not.toContain(null);
  };

  test('an outage that is confirmed begins with the failure that a probe alone kept, and the one that it began with confirms it', async ({
    network,
  }) => {
    const { monitor, relay } = await outageThatEuropeSawFirst(network);
    relay.heal();
    await expectDatedByAll(network, monitor);
  });

  test('also when the coordinator was restarted in between', async ({ network }) => {
    const { monitor, relay, coordinator } = await outageThatEuropeSawFirst(network);
    await coordinator.close();
    await network.startCoordinator();
    relay.heal();
    await expectDatedByAll(network, monitor);
  });
});
