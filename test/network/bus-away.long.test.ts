import { describe, expect } from 'vitest';
import type { TcpProxy } from '../support/connections.ts';
import { eventually } from '../support/eventually.ts';
import {
  alertsOf,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  resultsOf,
  type SeenIncident,
  watch,
} from '../support/monitors.ts';
import type { Network } from '../support/network.ts';
import { test as plain } from '../support/network-test.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/**
 * Probes that cannot reach the bus go on checking; what they saw is told in order, with its
 * original times.
 */

type Away = {
  readonly network: Network;
  readonly target: Target;
  readonly monitor: string;
  readonly relays: { readonly Europe: TcpProxy; readonly Asia: TcpProxy };
  readonly cut: () => void;
  readonly heal: () => void;
  /** Settles after so many more checks. */
  readonly hits: (count: number) => Promise<void>;
};

/**
 * A monitor seen from two continents, and probes whose way to the bus leads through a relay each.
 */
const test = plain.extend('away', async ({ network }): Promise<Away> => {
  const relays = { Europe: await network.startRelay(), Asia: await network.startRelay() };
  await network.startCoordinator();
  for (const continent of ['Europe', 'Asia'] as const)
    await network.startProbe(await network.makeProbe(continent), { url: relays[continent].url });
  const { target, monitor } = await watch(network);
  return {
    ...{ network, target, monitor, relays },
    cut: () => {
      for (const relay of Object.values(relays)) relay.cut();
    },
    heal: () => {
      for (const relay of Object.values(relays)) relay.heal();
    },
    hits: async (count) => {
      const from = target.hits.length;
      await eventually(() => target.hits.length >= from + count, 30_000);
    },
  };
});

/** As the first failing checks of two continents saw it, whichever of them handed over first. */
const expectDatedByBoth = async (
  { network, monitor }: Away,
  { started_at, confirmed_at, seen_continent, confirmed_continent }: SeenIncident,
) => {
  expect(confirmed_continent).not.toBe(seen_continent);
  const fails = (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1);
  const firstOf = (continent: string | null) =>
    Math.min(...fails.flatMap((row) => (row.continent === continent ? [Number(row.at)] : [])));
  expect([Number(started_at), Number(confirmed_at)]).toEqual([
    firstOf(seen_continent),
    firstOf(confirmed_continent),
  ]);
};

describe.concurrent('while all probes have lost the bus', () => {
  test('rule 6: they go on checking, and an outage that began then is dated by the first check that saw it', async ({
    away,
  }) => {
    const { network, target, monitor, cut, heal, hits } = away;
    cut();
    await hits(3);
    target.answer(broken);
    await hits(6);
    heal();
    await expectDatedByBoth(away, await incidentThat(network.sql, monitor, isConfirmed, 60_000));
  });

  test('and one hands over seconds after the other, the outage has the same times as if they had come together', async ({
    away,
  }) => {
    const { network, target, monitor, relays, cut, hits } = away;
    cut();
    await hits(3);
    target.answer(broken);
    await hits(6);
    relays.Europe.heal();
    await hits(4);
    relays.Asia.heal();
    await expectDatedByBoth(away, await incidentThat(network.sql, monitor, isConfirmed, 60_000));
  });

  test('and one hands over seconds after the other, an outage that came and went is one, of both, and over', async ({
    away,
  }) => {
    const { network, target, monitor, relays, cut, hits } = away;
    cut();
    target.answer(broken);
    await hits(4);
    target.answer(fine);
    // So long that a probe alone would be lost: when all are silent it is the bus, and who comes
    // back later has not been lost meanwhile.
    await hits(16);
    relays.Asia.heal();
    await hits(4);
    relays.Europe.heal();
    await expectDatedByBoth(away, await incidentThat(network.sql, monitor, isResolved, 60_000));
    expect(await incidentsOf(network.sql, monitor)).toHaveLength(1);
    expect(await network.sql`select 1 from notices where kind = 'probe_lost'`).toEqual([]);
  });

  test('an outage that came and went is recorded, resolved, and told late; no check is missing or doubled', async ({
    away: { network, target, monitor, cut, heal, hits },
  }) => {
    cut();
    target.answer(broken);
    await hits(6);
    target.answer(fine);
    await hits(6);
    const seen = target.hits.length;
    heal();
    await incidentThat(network.sql, monitor, isResolved, 40_000);
    expect(
      (await alertsOf(network.sql, monitor)).filter(
        ({ state }) => state === 'due' || state === 'sent',
      ),
    ).toEqual([{ event: 'was_down', state: 'due' }]);
    await eventually(async () => (await resultsOf(network.sql, monitor)).length >= seen);
    const checks = (await resultsOf(network.sql, monitor)).map(
      ({ continent, at }) => `${continent} ${Number(at)}`,
    );
    expect(new Set(checks).size).toBe(checks.length);
  });
});
