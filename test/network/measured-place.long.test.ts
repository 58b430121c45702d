import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OwnBus, startOwnBus } from '../support/buses.ts';
import { eventually } from '../support/eventually.ts';
import { canMakeTwoHosts, makeTwoHosts, type TwoHosts } from '../support/hosts.ts';
import { createNetwork, type MadeProbe, type Network } from '../support/network.ts';
import { startProbeProcess } from '../support/probes.ts';
import type { ChildProgram } from '../support/processes.ts';
import { hasBinaries, servicesHere } from '../support/services.ts';

/**
 * Rule 16 with every part real: two hosts at public addresses, on a wire of some microseconds with
 * this machine, where the probes of three continents are. So near to them no host is in Antarctica;
 * one in Asia may be, for Asia touches two and is the third.
 */
describe.runIf(hasBinaries() && canMakeTwoHosts())('a host at a public address', () => {
  const running: ChildProgram[] = [];
  let two: TwoHosts;
  let bus: OwnBus;
  let network: Network;

  beforeAll(async () => {
    two = await makeTwoHosts({}, 'public');
    // It is to see where each connection comes from, so nothing relays for it.
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

  const startOn = async (host: 0 | 1, made: MadeProbe): Promise<void> => {
    const environment = { PROBE_NATS_URL: `nats://${two.here}:${new URL(bus.nats.url).port}` };
    running.push(await startProbeProcess(made, { netns: two.hosts[host].netns, environment }));
  };

  test('that is too near to two continents for its own has a location mismatch, which the operator reads with its size', async () => {
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
