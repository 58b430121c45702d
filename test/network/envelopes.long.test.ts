import { afterAll, beforeAll, describe } from 'vitest';
import { presenceMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { streams, subjects } from '../../shared/bus/subjects.ts';
import { eventually } from '../support/eventually.ts';
import { publishedFor } from '../support/monitors.ts';
import {
  type CoordinatorProcess,
  createNetwork,
  type MadeProbe,
  type Network,
  quickResync,
} from '../support/network.ts';
import { test } from '../support/network-test.ts';
import type { Target } from '../support/targets.ts';

/** Assignments by the envelope, over kills and a lost bus. */

const assign = streams.assignments.name;

/** What a probe says that it holds, whenever it says so. */
const countsOf = (bus: Bus, { id }: MadeProbe) => {
  const counts: number[] = [];
  bus.subscribe(subjects.presence(id), ({ data }) => {
    const said = presenceMessage.safeParse(JSON.parse(new TextDecoder().decode(data)));
    if (said.success) counts.push(said.data.assignments.count);
  });
  return counts;
};

describe.concurrent('assignments', () => {
  let network: Network;
  let bus: Bus;
  let target: Target;
  let running: MadeProbe;
  let counts: number[];
  const monitors: string[] = [];

  beforeAll(async () => {
    network = await createNetwork();
    await network.startCoordinator({ timing: { digestMs: 500, refreshMs: 500, ...quickResync() } });
    bus = await network.joinBus();
    target = await network.startTarget();
    running = (await network.addProbe('Europe')).made;
    counts = countsOf(bus, running);
    for (let nth = 0; nth < 40; nth += 1)
      monitors.push(await network.addMonitor({ target: target.url(`/${nth}`), interval_s: 2 }));
    await eventually(() => counts.at(-1) === 40, 60_000);
  });
  afterAll(() => network.close());

  const checksGoOn = async (): Promise<void> => {
    const from = target.hits.length;
    await eventually(() => target.hits.length > from + 40, 60_000);
    await eventually(() => counts.at(-1) === monitors.length, 60_000);
  };
  const newVersionArrives = async (): Promise<void> => {
    const [first = ''] = monitors;
    const path = `/new-${Math.random()}`;
    await network.editMonitor(first, { target: target.url(path) });
    await eventually(() => target.hits.some(({ url }) => url === path), 40_000);
  };

  test('come back to a bus that lost all of them', async () => {
    await bus.deleteStream(assign);
    await bus.ensureStream(streams.assignments);
    await eventually(
      async () => (await bus.subjectsOf(assign, subjects.assignmentsOf('Europe'))).length > 0,
      60_000,
    );
    await newVersionArrives();
    await checksGoOn();
  });
});

test.concurrent('assignments are those of the database in the end, whenever coordinators are killed while they change', async ({
  network,
  target,
}) => {
  const bus = await network.joinBus();
  const made = await network.makeProbe('Europe');
  let coordinator: CoordinatorProcess = await network.startCoordinatorProcess();
  await network.startProbe(made);
  const counts = countsOf(bus, made);
  const versions = new Map<string, number>();
  const gone: string[] = [];
  const add = async (): Promise<void> => {
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 3_600 });
    versions.set(monitor, 1);
  };
  for (let nth = 0; nth < 60; nth += 1) await add();
  for (let round = 0; round < 4; round += 1) {
    const change = async (): Promise<void> => {
      for (const [nth, [monitor, version]] of [...versions].entries()) {
        if (nth % 7 === round) {
          await network.deleteMonitor(monitor);
          versions.delete(monitor);
          gone.push(monitor);
        } else if (nth % 3 === 0) {
          await network.editMonitor(monitor, {});
          versions.set(monitor, version + 1);
        }
      }
      for (let nth = 0; nth < 10; nth += 1) await add();
    };
    const changing = change();
    coordinator.signal('SIGKILL');
    await coordinator.exited;
    coordinator = await network.startCoordinatorProcess();
    await changing;
  }
  for (const [monitor, version] of versions)
    await eventually(
      async () => (await publishedFor(bus, 'Europe', monitor))?.config_version === version,
      60_000,
    );
  for (const monitor of gone)
    await eventually(async () => !(await publishedFor(bus, 'Europe', monitor)), 60_000);
  await eventually(() => counts.at(-1) === versions.size, 60_000);
});
