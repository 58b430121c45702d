import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import { assignmentMessage } from '../../shared/bus/messages.ts';
import { type Bus, connectBus } from '../../shared/bus/nats.ts';
import { probeConsumers, streams, subjects } from '../../shared/bus/subjects.ts';
import { eventually } from '../support/eventually.ts';
import { announceAsCoordinator, createNetwork, type MadeProbe, type Network, quickResync } from '../support/network.ts';
import type { Target } from '../support/targets.ts';

/** A probe that holds something else than the database wants it to: presence tells, and it is mended. */

let network: Network;
let bus: Bus;

beforeAll(async () => {
  network = await createNetwork();
  await network.startCoordinator({ timing: { digestMs: 500, ...quickResync() } });
  const { url, coordinatorCredentials: credentials } = network.account;
  bus = await connectBus({ url, credentials, name: 'test', log: network.log, announce: announceAsCoordinator });
});
afterAll(async () => {
  await bus.close();
  await network.close();
});

const last = async (subject: string): Promise<Uint8Array | undefined> => (await bus.last(streams.assignments.name, subject))?.data;

/** A monitor of an hour that the probes of its continents hold and have looked at. */
const addHourly = async (target: Target, continent: Continent, probe: MadeProbe): Promise<string> => {
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1, config: { continents: [continent] } });
  await eventually(() => target.hits.length > 1, 40_000);
  await network.editMonitor(monitor, { interval_s: 3_600 });
  await eventually(async () => {
    const data = await last(subjects.assignment(continent, monitor));
    return data && assignmentMessage.parse(JSON.parse(new TextDecoder().decode(data))).interval_ms === 3_600_000;
  });
  await everythingTaken(probe);
  return monitor;
};

const everythingTaken = (probe: MadeProbe) =>
  eventually(async () => {
    const { name } = probeConsumers.assignments(probe.id, '');
    const state = await bus.consumerState(streams.assignments.name, name);
    return state?.pending === 0 && state.unacknowledged === 0;
  });

describe('a probe', () => {
  test('whose copy differs by its interval alone is told anew, also where the bus itself had it wrong', async () => {
    const probe = await network.addProbe('Europe');
    const target = await network.startTarget();
    const monitor = await addHourly(target, 'Europe', probe.made);
    const from = target.hits.length;
    await network.sql`update monitors set interval_s = 1 where id = ${monitor}`;
    await eventually(() => target.hits.length > from + 4, 90_000);
    await probe.close();
  });

  test('that missed a message for good gets it all the same', async () => {
    const probe = await network.addProbe('Asia');
    const target = await network.startTarget();
    const monitor = await addHourly(target, 'Asia', probe.made);
    await probe.close();
    await network.sql`update monitors set interval_s = 1 where id = ${monitor}`;
    await network.editMonitor(monitor, {});
    const consumer = probeConsumers.assignments(probe.made.id, '').name;
    const taken = Promise.withResolvers<void>();
    const thief = bus.pull({
      ...{ stream: streams.assignments.name, consumer, batch: 10 },
      onMessages: async (messages) => {
        for (const message of messages) message.ack();
        if (messages.some(({ subject }) => subject.endsWith(monitor))) taken.resolve();
      },
    });
    await taken.promise;
    await eventually(async () => (await bus.consumerState(streams.assignments.name, consumer))?.unacknowledged === 0);
    await thief.stop();
    const from = target.hits.length;
    const again = await network.startProbe(probe.made);
    await eventually(() => target.hits.length > from + 3, 90_000);
    await again.close();
  });

  test('that was given a monitor of which the database knows nothing has it taken away', async () => {
    const [target, known] = [await network.startTarget(), await network.startTarget()];
    const probe = await network.addProbe('Africa');
    const monitor = await network.addMonitor({ target: known.url(), interval_s: 1, config: { continents: ['Africa'] } });
    const subject = subjects.assignment('Africa', monitor);
    const assignment = await eventually(async () => {
      const data = await last(subject);
      return data && assignmentMessage.parse(JSON.parse(new TextDecoder().decode(data)));
    });
    const stranger = newId();
    const where = subjects.assignment('Africa', stranger);
    await eventually(() => known.hits.length > 0);
    await eventually(() => bus.store(where, JSON.stringify({ ...assignment, monitor: stranger, target: target.url() })));
    await eventually(() => target.hits.length > 1);
    await eventually(async () => (await last(where))?.length === 0, 90_000);
    await everythingTaken(probe.made);
    // As long as the known one is checked so often, the stranger would have been, too.
    const settled = target.hits.length + 1;
    const from = known.hits.length;
    await eventually(() => known.hits.length > from + 4, 40_000);
    expect(target.hits.length).toBeLessThanOrEqual(settled);
    await probe.close();
  });
});
