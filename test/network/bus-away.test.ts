import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseProbeCredentials, printProbeCredentials } from '../../shared/bus/credentials.ts';
import { type CutProxy, createCutProxy } from '../probe/support/cut-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { alertsOf, incidentThat, isConfirmed, isResolved, resultsOf, seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, fine, startTarget, type Target } from '../support/targets.ts';

/** Probes that cannot reach the bus go on checking; what they saw is told in order, with its original times. */

let network: Network;
let target: Target;
let relay: CutProxy;

beforeEach(async () => {
  network = await createNetwork();
  target = await startTarget();
  relay = await createCutProxy(network.account.url);
  await network.startCoordinator();
});
afterEach(async () => {
  relay.heal();
  await network.close();
  await relay.close();
  await target.close();
});

/** A probe whose way to the bus leads through the relay. */
const addProbe = async (continent: 'Europe' | 'Asia'): Promise<void> => {
  const made = await network.makeProbe(continent);
  const credentials = printProbeCredentials({ ...parseProbeCredentials(made.credentials), nats_url: relay.url });
  await network.startProbe({ ...made, credentials });
};

const hits = async (count: number): Promise<number> => {
  const from = target.hits.length;
  await eventually(() => target.hits.length >= from + count, 30_000);
  return target.hits[from]?.at ?? 0;
};

describe('while all probes have lost the bus', () => {
  test('they go on checking, and an outage that began then is dated by the first check that saw it', async () => {
    await addProbe('Europe');
    await addProbe('Asia');
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
    relay.cut();
    await hits(3);
    target.answer(broken);
    const firstFailure = await hits(6);
    relay.heal();
    const incident = await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    expect(Math.abs(Number(incident.started_at) - firstFailure)).toBeLessThan(500);
    // Confirmed by a check that really took place, of the other continent, whichever of the two handed over first.
    expect(incident.confirmed_continent).not.toBe(incident.seen_continent);
    const starts = (await resultsOf(network.sql, monitor)).map(({ at }) => Number(at));
    expect(starts).toContain(Number(incident.confirmed_at));
  }, 90_000);

  test('an outage that came and went is recorded, resolved, and alerts nobody; no check is missing and none is there twice', async () => {
    await addProbe('Europe');
    await addProbe('Asia');
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
    const since = Date.now();
    relay.cut();
    target.answer(broken);
    await hits(6);
    target.answer(fine);
    await hits(6);
    const until = Date.now();
    relay.heal();
    await incidentThat(network.sql, monitor, isResolved, 40_000);
    expect((await alertsOf(network.sql, monitor)).filter(({ state }) => state === 'due' || state === 'sent')).toEqual([]);
    const seen = target.hits.filter(({ at }) => at > since + 500 && at < until - 500);
    const stored = async () => (await resultsOf(network.sql, monitor)).map(({ at }) => Number(at));
    await eventually(async () => {
      const times = await stored();
      return seen.every(({ at }) => times.some((time) => Math.abs(time - at) < 250));
    });
    const times = await stored();
    expect(new Set(times).size).toBe(times.length);
  }, 90_000);
});
