import { afterAll, beforeAll, describe, expect } from 'vitest';
import { incidentById } from '../../coordinator/incidents/queries.ts';
import { sidesFrom } from '../../coordinator/incidents/writes.ts';
import { sidesNow } from '../../coordinator/monitors/sides.ts';
import { createResults } from '../../coordinator/results/reading.ts';
import { createUnsealedHours } from '../../coordinator/results/unsealed-hours.ts';
import { type OwnBus, startOwnBus } from '../support/buses.ts';
import { eventually } from '../support/eventually.ts';
import { canMakeTwoHosts, makeTwoHosts, type TwoHosts } from '../support/hosts.ts';
import { incidentThat, isConfirmed, isResolved } from '../support/monitors.ts';
import { createNetwork, type MadeProbe } from '../support/network.ts';
import { test as plain } from '../support/network-test.ts';
import { startProbeProcess } from '../support/probes.ts';
import type { ChildProgram } from '../support/processes.ts';
import { hasBinaries, servicesHere } from '../support/services.ts';

/**
 * Hosts of their own at public addresses, with every part real: on a wire of some microseconds with
 * this machine, where other probes are, and a server that knows who comes from where.
 */
describe.runIf(hasBinaries() && canMakeTwoHosts())('hosts at public addresses', () => {
  const running: ChildProgram[] = [];
  let two: TwoHosts;
  let bus: OwnBus;

  beforeAll(async () => {
    two = await makeTwoHosts({}, 'public');
    // It is to see where each connection comes from, so nothing relays for it.
    bus = await startOwnBus({ layout: () => 'host: "0.0.0.0"\n' });
  });
  afterAll(async () => {
    await bus?.stop();
    await two?.close();
  });

  const test = plain.extend('network', async ({ task: _ }, { onCleanup }) => {
    const network = await createNetwork({ services: { ...servicesHere(), nats: bus.nats } });
    onCleanup(async () => {
      for (const one of running.splice(0)) {
        one.signal('SIGKILL');
        await one.exited;
      }
      await network.close();
    });
    return network;
  });

  const startOn = async (host: 0 | 1, made: MadeProbe): Promise<void> => {
    const environment = { PROBE_NATS_URL: `nats://${two.here}:${new URL(bus.nats.url).port}` };
    running.push(await startProbeProcess(made, { netns: two.hosts[host].netns, environment }));
  };

  test('an office and three continents tell the way in from the service itself, and from the line of the office', async ({
    network,
  }) => {
    const { sql, organisation } = network;
    await network.startCoordinatorProcess();
    const office = await network.makeProbe('Europe', 'office', organisation);
    const [host] = two.hosts;
    await startOn(0, office);
    const continents = ['Africa', 'Asia', 'Europe'] as const;
    // An address of its own is none that a probe checks unasked.
    const environment = { PROBE_ALLOW_CIDRS: `127.0.0.0/8,${two.here}/32` };
    for (const continent of continents) {
      const made = await network.makeProbe(continent, continent);
      running.push(await startProbeProcess(made, { environment }));
    }

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
    await told('Down inside only (office): check that network.');
    expect(await sql`select from incidents where monitor_id = ${monitor}`).toHaveLength(0);
    broken.inside = false;
    await told(null);

    // The way in.
    broken.outside = true;
    const first = await incidentThat(sql, monitor, isConfirmed);
    await eventually(async () => (await ofIncident(first.id)) === 'way_in');
    await told('Up inside (office), down from three continents: check edge, firewall or DNS.');
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

  /**
   * Rule 16: so near to them no host is in Antarctica; one in Asia may be, for Asia touches two and is
   * the third.
   */
  test('one that is too near to two continents for its own has a location mismatch, which the operator reads with its size', async ({
    network,
  }) => {
    const { sql } = network;
    const [vostok, delhi] = [
      await network.makeProbe('Antarctica', 'Vostok'),
      await network.makeProbe('Asia', 'Delhi'),
    ];
    await startOn(0, vostok);
    await startOn(1, delhi);
    for (const continent of ['Europe', 'North America', 'Asia'] as const)
      await network.startProbe(await network.makeProbe(continent, continent));
    const told = async () => {
      const [found] = await sql<{ subject: string; message: string }[]>`
        select subject, message from notices where kind = 'continent_doubted'`;
      return found;
    };
    // Of a place that is not doubted the next look is in an hour: where this machine was too busy
    // for a short way, another coordinator looks.
    for (let time = 0; time < 4 && !(await told()); time += 1) {
      // It looks first when it has heard of all of them.
      const coordinator = await network.startCoordinator({ timing: { refreshMs: 4_000 } });
      await eventually(told, 40_000).catch(() => undefined);
      await coordinator.close();
    }
    const notice = await told();
    expect(notice?.subject).toBe(vostok.id);
    expect(notice?.message).toMatch(
      /^The probe Vostok cannot be in Antarctica: It answers [\w ]+ \([\w ]+\) in \d+ ms and .+: no host in Antarctica can be so near/,
    );
    expect(await sql`select name from probes where doubted_at is not null`).toEqual([
      { name: 'Vostok' },
    ]);
  });
});
