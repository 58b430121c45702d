import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ChildProgram } from '../support/support-child-program.ts';
import { eventually } from '../support/support-eventually.ts';
import { createNetwork, type MadeProbe, type Network } from '../support/support-network.ts';
import { type OwnBus, startOwnBus } from '../support/support-own-bus.ts';
import { startProbeProcess } from '../support/support-probe-process.ts';
import { hasBinaries, servicesHere } from '../support/support-services.ts';
import { canMakeTwoHosts, makeTwoHosts, type TwoHosts } from '../support/support-two-hosts.ts';

/**
 * Rule 16 with every part real: two hosts at public addresses, on a wire of some microseconds with this machine, where the probes of Europe and Africa
 * are. So near to both, no host is in Oceania; one in Asia may be, for Asia touches both.
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

  test('that is too near to two continents for its own is doubted, and the operator is told by how much', async () => {
    const { sql } = network;
    const [suva, delhi] = [await network.makeProbe('Oceania', 'Suva'), await network.makeProbe('Asia', 'Delhi')];
    await startOn(0, suva);
    await startOn(1, delhi);
    for (const continent of ['Europe', 'Africa'] as const) await network.startProbe(await network.makeProbe(continent, continent));
    // It looks for the first time when it has heard of all of them; else after a minute.
    await network.startCoordinator({ timing: { lookAgainMs: 4_000 } });

    const notice = await eventually(async () => {
      const [found] = await sql<
        { subject: string; message: string }[]
      >`select subject, message from notices where kind = 'continent_doubted'`;
      return found;
    }, 150_000);
    expect(notice.subject).toBe(suva.id);
    expect(notice.message).toMatch(
      /^The probe Suva cannot be in Oceania: It answers (Europe \(Europe\)|Africa \(Africa\)) in \d+ ms and (Europe \(Europe\)|Africa \(Africa\)) in \d+ ms: /,
    );
    expect(await sql`select name from probes where doubted_at is not null`).toEqual([{ name: 'Suva' }]);
  });
});
