import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { incidentById } from '../../coordinator/incidents/queries.ts';
import { sidesFrom } from '../../coordinator/incidents/writes.ts';
import { sidesNow } from '../../coordinator/monitors/sides.ts';
import { createResults } from '../../coordinator/results/reading.ts';
import { createUnsealedHours } from '../../coordinator/results/unsealed-hours.ts';
import { type OwnBus, startOwnBus } from '../support/buses.ts';
import { eventually } from '../support/eventually.ts';
import { canMakeTwoHosts, makeTwoHosts, type TwoHosts } from '../support/hosts.ts';
import { incidentThat, isConfirmed, isResolved } from '../support/monitors.ts';
import { createNetwork, type MadeProbe, type Network } from '../support/network.ts';
import { startProbeProcess } from '../support/probes.ts';
import type { ChildProgram } from '../support/processes.ts';
import { hasBinaries, servicesHere } from '../support/services.ts';

/**
 * Inside and outside with every part real: an office on a host of its own, probes of three
 * continents on this machine, and a server that knows who comes from where.
 */
describe.runIf(hasBinaries() && canMakeTwoHosts())('an office and three continents', () => {
  const running: ChildProgram[] = [];
  let two: TwoHosts;
  let bus: OwnBus;
  let network: Network;

  beforeAll(async () => {
    two = await makeTwoHosts({}, 'public');
    bus = await startOwnBus({ layout: () => 'host: "0.0.0.0"\n' });
    network = await createNetwork({ services: { ...servicesHere(), nats: bus.nats } });
  });
  afterAll(async () => {
    for (const one of running) {
      one.signal('SIGKILL');
      await one.exited;
    }
    await network?.close();
    await bus?.stop();
    await two?.close();
  });

  test('tell the way in from the service itself, and from the line of the office', async () => {
    const { sql, organisation } = network;
    await network.startCoordinatorProcess();
    const office = await network.makeProbe('Europe', 'office', organisation);
    const [host] = two.hosts;
    const start = async (made: MadeProbe, netns?: string): Promise<void> => {
      const PROBE_NATS_URL = `nats://${two.here}:${new URL(bus.nats.url).port}`;
      // An address of its own is none that a probe checks unasked.
      const own = { PROBE_ALLOW_CIDRS: `127.0.0.0/8,${two.here}/32` };
      const options =
        netns === undefined ? { environment: own } : { netns, environment: { PROBE_NATS_URL } };
      running.push(await startProbeProcess(made, options));
    };
    await start(office, host.netns);
    const continents = ['Africa', 'Asia', 'Europe'] as const;
    for (const continent of continents) await start(await network.makeProbe(continent, continent));

    const broken = { inside: false, outside: false };
    const site = await two.target((from) =>
      from.includes(host.address) ? !broken.inside : !broken.outside,
    );
    const monitor = await network.addMonitor({
      target: site.url,
      interval_s: 2,
      places: [...continents, office.id],
    });
    const hours = createUnsealedHours({ sql, log: network.log });
    const results = createResults({ unsealed: hours, log: network.log });
    const now = async () =>
      sidesNow(sql, results, organisation, monitor, {
        isDown:
          (
            await sql`select from incidents where monitor_id = ${monitor}
            and confirmed_at is not null and resolved_at is null`
          ).length > 0,
        now: Date.now(),
      });
    const told = (sentence: string | null) =>
      eventually(async () => {
        const sides = await now();
        return sides &&
          sides.sentence === sentence &&
          sides.inside.failing.length + sides.inside.passing.length === 1
          ? sides
          : undefined;
      }, 60_000);
    const ofIncident = async (id: string) => {
      const row = await incidentById(sql, organisation, id);
      return sidesFrom(row?.sides ?? null, row?.confirmed_at != null)?.verdict;
    };

    await eventually(async () => (await now())?.outside.passing.length === 3, 60_000);
    expect((await told(null)).inside).toEqual({ failing: [], passing: ['office'] });

    // The line of the office: nobody is alarmed.
    broken.inside = true;
    await told('Fails inside only (office): the line of that place, or its way to the service.');
    expect(await sql`select from incidents where monitor_id = ${monitor}`).toHaveLength(0);
    broken.inside = false;
    await told(null);

    // The way in.
    broken.outside = true;
    const first = await incidentThat(sql, monitor, isConfirmed);
    await eventually(async () => (await ofIncident(first.id)) === 'way_in');
    await told(
      'Answers inside (office), fails from three continents: the way in (edge, firewall, DNS).',
    );
    broken.outside = false;
    await incidentThat(sql, monitor, (each) => each.id === first.id && isResolved(each));

    // The service itself.
    Object.assign(broken, { inside: true, outside: true });
    const second = await incidentThat(
      sql,
      monitor,
      (each) => each.id !== first.id && isConfirmed(each),
    );
    await eventually(async () => (await ofIncident(second.id)) === 'service');
    await told('Fails inside too (office): the service itself.');
    expect(await ofIncident(first.id)).toBe('way_in');
  });
});
