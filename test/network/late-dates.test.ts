import { afterEach, beforeEach, expect, test } from 'vitest';
import type { App } from '../../coordinator/app.ts';
import { eventually } from '../support/eventually.ts';
import { incidentsOf, incidentThat, isConfirmed, resultsOf, seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, type Target } from '../support/targets.ts';
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** Rule 3: what one probe alone kept, and hands over when the outage is long confirmed, dates it anew. */

let network: Network;
let target: Target;
let coordinator: Pick<App, 'close'>;
let relay: TcpProxy;

beforeEach(async () => {
  network = await createNetwork();
  target = await network.startTarget();
  relay = await createTcpProxy(network.account.url);
  coordinator = await network.startCoordinator();
  await network.startProbe(await network.makeProbe('Europe'), { url: relay.url });
  await network.addProbe('Asia');
  await network.addProbe('Africa');
});
afterEach(async () => {
  relay.heal();
  await network.close();
  await relay.close();
});

/** Europe is cut off, sees the outage, and only then do the others, who confirm it. */
const outageThatEuropeSawFirst = async (): Promise<string> => {
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  await seenFrom(network.sql, monitor, 3);
  relay.cut();
  target.answer(broken, ['Europe']);
  const since = target.hits.length;
  await eventually(() => target.hits.slice(since).some(({ continent }) => continent === 'Europe'), 30_000);
  target.answer(broken);
  const { seen_continent } = await incidentThat(network.sql, monitor, isConfirmed, 30_000);
  expect(seen_continent).not.toBe('Europe');
  return monitor;
};

const expectDatedByAll = async (monitor: string): Promise<void> => {
  const { started_at, confirmed_at, confirmed_continent } = await incidentThat(
    network.sql,
    monitor,
    (incident) => isConfirmed(incident) && incident.seen_continent === 'Europe',
    60_000,
  );
  const fails = (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1);
  const firstOf = (isMeant: (continent: string) => boolean) =>
    Math.min(...fails.flatMap(({ continent, at }) => (isMeant(continent) ? [Number(at)] : [])));
  expect([Number(started_at), Number(confirmed_at)]).toEqual([
    firstOf((continent) => continent === 'Europe'),
    firstOf((continent) => continent !== 'Europe'),
  ]);
  expect(confirmed_continent).not.toBe('Europe');
  expect(await incidentsOf(network.sql, monitor)).toHaveLength(1);
  const [seen, confirmed] = await network.sql<{ at: Date; evidence: unknown }[]>`
    select e.at, e.evidence from incident_evidence e join incidents i on i.id = e.incident_id
    where i.monitor_id = ${monitor} and e.part <> 'matrix' order by e.part = 'confirmed'`;
  expect([Number(seen?.at), Number(confirmed?.at)]).toEqual([Number(started_at), Number(confirmed_at)]);
  expect([seen?.evidence, confirmed?.evidence]).not.toContain(null);
};

test('an outage that is confirmed begins with the failure that a probe alone kept, and the one that it began with confirms it', async () => {
  const monitor = await outageThatEuropeSawFirst();
  relay.heal();
  await expectDatedByAll(monitor);
});

test('also when the coordinator was started again in between', async () => {
  const monitor = await outageThatEuropeSawFirst();
  await coordinator.close();
  coordinator = await network.startCoordinator();
  relay.heal();
  await expectDatedByAll(monitor);
});
