import { describe, expect, test } from 'vitest';
import { parseProbeCredentials, printProbeCredentials } from '../../shared/bus/identity.ts';
import { createTcpProxy, type TcpProxy } from '../support/connections.ts';
import { eventually } from '../support/eventually.ts';
import {
  alertsOf,
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  resultsOf,
  type SeenIncident,
  seenFrom,
} from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/**
 * Probes that cannot reach the bus go on checking; what they saw is told in order, with its
 * original times.
 */

type Relays = { readonly Europe: TcpProxy; readonly Asia: TcpProxy };

type Away = {
  readonly network: Network;
  readonly target: Target;
  readonly monitor: string;
  readonly relays: Relays;
  readonly cut: () => void;
  readonly heal: () => void;
  /** Settles after so many more checks, with the time of the first of them. */
  readonly hits: (count: number) => Promise<number>;
};

/**
 * A monitor seen from two continents, and probes whose way to the bus leads through a relay each.
 */
const begin = async (atEnd: (end: () => Promise<void>) => void): Promise<Away> => {
  const network = await createNetwork();
  const { url } = network.account;
  const relays: Relays = { Europe: await createTcpProxy(url), Asia: await createTcpProxy(url) };
  const all = Object.values(relays);
  const heal = (): void => {
    for (const relay of all) relay.heal();
  };
  atEnd(async () => {
    heal();
    await network.close();
    for (const relay of all) await relay.close();
  });
  const target = await network.startTarget();
  await network.startCoordinator();
  for (const continent of ['Europe', 'Asia'] as const) {
    const made = await network.makeProbe(continent);
    const credentials = printProbeCredentials({
      ...parseProbeCredentials(made.credentials),
      nats_url: relays[continent].url,
    });
    await network.startProbe({ ...made, credentials });
  }
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  await seenFrom(network.sql, monitor, 2);
  return {
    network,
    target,
    monitor,
    relays,
    cut: () => {
      for (const relay of all) relay.cut();
    },
    heal,
    hits: async (count) => {
      const from = target.hits.length;
      await eventually(() => target.hits.length >= from + count, 30_000);
      return target.hits[from]?.at ?? 0;
    },
  };
};

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
    onTestFinished,
  }) => {
    const away = await begin(onTestFinished);
    const { network, target, monitor, cut, heal, hits } = away;
    cut();
    await hits(3);
    target.answer(broken);
    await hits(6);
    heal();
    await expectDatedByBoth(away, await incidentThat(network.sql, monitor, isConfirmed, 60_000));
  });

  test('and one hands over seconds after the other, the outage has the same times as if they had come together', async ({
    onTestFinished,
  }) => {
    const away = await begin(onTestFinished);
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
    onTestFinished,
  }) => {
    const away = await begin(onTestFinished);
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
    onTestFinished,
  }) => {
    const { network, target, monitor, cut, heal, hits } = await begin(onTestFinished);
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
