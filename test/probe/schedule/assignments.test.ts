import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createAnnouncementReader } from '../../../probe/presence/announcements.ts';
import { type Assignments, openAssignments } from '../../../probe/schedule/assignments.ts';
import {
  createHeartbeats,
  createPingView,
  type Heartbeats,
  settlingAfter,
} from '../../../probe/schedule/heartbeats.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { createAnnounce } from '../../../shared/bus/announcement.ts';
import { longestDialWaitMs } from '../../../shared/bus/dialling.ts';
import type { Headers } from '../../../shared/bus/messages.ts';
import type { BusStatus } from '../../../shared/bus/nats.ts';
import { probeConsumers, streams, subjects } from '../../../shared/bus/subjects.ts';
import {
  type Assignment,
  assignedElement,
  assignedIn,
  assignmentsDigest,
  type Roster,
} from '../../../shared/checks/assignment.ts';
import { noPings } from '../../../shared/checks/heartbeat/state.ts';
import { eventually } from '../../support/eventually.ts';
import { deltaOf, digestOf } from '../../support/monitors.ts';
import { assignmentOf } from '../support/checkers.ts';
import {
  type BusOfProbe,
  coordinatorKeys,
  createBusOfProbe,
  rosterProbe,
  signingKeys,
  silentLog,
} from '../support/surroundings.ts';

describe('assignments', () => {
  let folder: string;
  let wire: BusOfProbe;
  let assignments: Assignments;
  let held: Map<string, Assignment>;
  let rosters: Roster[];
  const now = Date.now();

  const waitFor = { timeout: 40_000, interval: 20 };

  const open = async (): Promise<void> => {
    held = new Map();
    rosters = [];
    assignments = await openAssignments({
      folder,
      probe: wire.probe,
      onPut: (assignment) => held.set(assignment.monitor, assignment),
      onGone: (monitor) => held.delete(monitor),
      onRoster: (roster) => rosters.push(roster),
      announcements: createAnnouncementReader({
        trust: () => signingKeys,
        now: () => now,
        log: silentLog,
      }),
      clock: { now: () => now, isMeasured: () => true },
      log: silentLog,
    });
  };

  const publish = async (
    assignment: Assignment,
    continent: Continent = 'Europe',
  ): Promise<void> => {
    await wire.coordinator.store(
      deltaOf(continent, assignment),
      JSON.stringify({ v: 1, ...assignment }),
    );
  };
  const tombstone = async (monitor: string): Promise<void> => {
    await wire.coordinator.store(deltaOf('Europe', { monitor, ordinal: 0 }), '');
  };
  const digest = (all: readonly Assignment[]): string =>
    assignmentsDigest(digestOf(all.map((one) => assignedElement(assignedIn(one)))));

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-assignments-'));
    wire = await createBusOfProbe();
    await open();
  });
  afterEach(async () => {
    await assignments.close();
    await wire.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('of the probe’s continent come, change and go, and the digest says which they are', async () => {
    const [first, second, foreign] = [1, 2, 3].map((ordinal) =>
      assignmentOf('https://a.example/', { ordinal }),
    );
    if (!first || !second || !foreign) throw new Error('three were made');
    await publish(first);
    await publish(foreign, 'Asia');
    assignments.attach(await wire.connect());
    await publish(second);
    await expect.poll(() => held.size, waitFor).toBe(2);
    expect(assignments.state()).toEqual({ count: 2, digest: digest([first, second]) });
    const edited = { ...first, config_version: 2, target: 'https://b.example/' };
    await publish(edited);
    await expect
      .poll(() => assignments.find(first.monitor)?.target, waitFor)
      .toBe('https://b.example/');
    await tombstone(second.monitor);
    await expect.poll(() => assignments.state().digest, waitFor).toBe(digest([edited]));
    expect(held.has(second.monitor)).toBe(false);
  });

  test('hold once what they have in common', async () => {
    const organisation = randomUUID();
    const config = { headers: { Accept: 'text/html' }, expected_status: ['2xx'] };
    const [first, second, other] = [config, structuredClone(config), {}].map((each, ordinal) =>
      assignmentOf('https://a.example/', { ordinal, organisation, config: each }),
    );
    if (!first || !second || !other) throw new Error('three were made');
    for (const one of [first, second, other]) await publish(one);
    assignments.attach(await wire.connect());
    await expect.poll(() => held.size, waitFor).toBe(3);
    expect(assignments.find(second.monitor)).toEqual(second);
    expect(assignments.find(second.monitor)?.config).toBe(assignments.find(first.monitor)?.config);
    expect(assignments.find(other.monitor)?.config).toEqual({});
  });

  test('and the roster are restored after a restart without a bus', async () => {
    const all = Array.from({ length: 300 }, (_, ordinal) =>
      assignmentOf('https://a.example/', { ordinal }),
    );
    for (const one of all) await publish(one);
    await wire.coordinator.store(
      subjects.roster,
      JSON.stringify({ v: 1, epoch: 7, probes: [rosterProbe(wire)] }),
    );
    assignments.attach(await wire.connect());
    await expect.poll(() => held.size, waitFor).toBe(300);
    await expect.poll(() => rosters.length, waitFor).toBe(1);
    // Acknowledged means on disk.
    const { name } = probeConsumers.assignments(wire.probe.id, '');
    const left = () => wire.coordinator.consumerState(streams.assignments.name, name);
    await expect.poll(async () => (await left())?.unacknowledged, waitFor).toBe(0);
    await assignments.close();
    await open();
    expect(held.size).toBe(300);
    expect(rosters.at(-1)).toMatchObject({ epoch: 7 });
    expect(assignments.roster()?.probes[0]?.id).toBe(wire.probe.id);
    expect(assignments.state().digest).toBe(digest(all));
  });

  test('that are gone without a deletion marker are dropped when the coordinator has everything sent again', async () => {
    const [kept, lost] = [1, 2].map((ordinal) => assignmentOf('https://a.example/', { ordinal }));
    if (!kept || !lost) throw new Error('two were made');
    await publish(kept);
    await publish(lost);
    assignments.attach(await wire.connect());
    await expect.poll(() => held.size, waitFor).toBe(2);
    await wire.coordinator.purge(streams.assignments.name, deltaOf('Europe', lost));
    const consumer = probeConsumers.assignments(wire.probe.id, subjects.assignmentsOf('Europe'));
    await wire.coordinator.renewConsumer(streams.assignments.name, consumer);
    await expect.poll(() => [...held.keys()], waitFor).toEqual([kept.monitor]);
    expect(assignments.state()).toEqual({ count: 1, digest: digest([kept]) });
  });

  test('count only as a coordinator signed them: not forged, moved, or said again when something newer is held, also after a restart', async () => {
    /** What comes with these headers, whoever says it. */
    const forge = (subject: string, data: string, headers: Headers = {}): void =>
      wire.coordinator.relay(subject, Buffer.from(data), { reply: undefined, headers });
    const say = (subject: string, data: string, at: number) => {
      const [headers = {}] = createAnnounce(coordinatorKeys, () => at)([{ subject, data }]);
      forge(subject, data, headers);
      return headers;
    };
    const [first, gone, forged] = [1, 2, 3].map((ordinal) =>
      assignmentOf('https://a.example/', { ordinal }),
    );
    if (!first || !gone || !forged) throw new Error('three were made');
    const at = (monitor: string) => deltaOf('Europe', { monitor, ordinal: 0 });
    const text = (assignment: Assignment) => JSON.stringify({ v: 1, ...assignment });
    const older = say(at(first.monitor), text(first), now - 60_000);
    const ofGone = say(at(gone.monitor), text(gone), now - 60_000);
    assignments.attach(await wire.connect());
    await expect.poll(() => held.size, waitFor).toBe(2);
    const edited = { ...first, config_version: 2, target: 'https://b.example/' };
    say(at(first.monitor), text(edited), now);
    say(at(gone.monitor), '', now);
    await expect
      .poll(() => [held.size, held.get(first.monitor)?.target], waitFor)
      .toEqual([1, 'https://b.example/']);
    const attempts = async () => {
      forge(at(first.monitor), text(first), older);
      forge(at(gone.monitor), text(gone), ofGone);
      forge(at(forged.monitor), text(forged));
      forge(at(first.monitor), '');
      forge(subjects.roster, JSON.stringify({ v: 1, epoch: 9e15, probes: [] }));
      say(subjects.roster, JSON.stringify({ v: 1, epoch: now + 3_600_000, probes: [] }), now);
      say(subjects.roster, JSON.stringify({ v: 1, epoch: now, probes: [] }), now);
      await wire.coordinator.flush();
    };
    await attempts();
    await expect.poll(() => rosters.length, waitFor).toBe(1);
    const left = async (name: string) =>
      (await wire.coordinator.consumerState(streams.assignments.name, name))?.unacknowledged;
    await expect
      .poll(() => left(probeConsumers.assignments(wire.probe.id, '').name), waitFor)
      .toBe(0);
    expect([...held.values()].map(({ target }) => target)).toEqual(['https://b.example/']);
    await assignments.close();
    await open();
    assignments.attach(await wire.connect());
    await attempts();
    await expect.poll(() => rosters.length, waitFor).toBe(2);
    await expect
      .poll(() => left(probeConsumers.assignments(wire.probe.id, '').name), waitFor)
      .toBe(0);
    expect([...held.values()].map(({ target }) => target)).toEqual(['https://b.example/']);
  });

  test('that cannot be read are skipped, and the next ones come', async () => {
    assignments.attach(await wire.connect());
    await wire.coordinator.store(
      deltaOf('Europe', { monitor: randomUUID(), ordinal: 0 }),
      '{"v":2}',
    );
    await wire.coordinator.store(
      deltaOf('Europe', { monitor: randomUUID(), ordinal: 0 }),
      'not JSON',
    );
    await publish(assignmentOf('https://a.example/'));
    await expect.poll(() => held.size, waitFor).toBe(1);
  });

  test('of an organisation’s monitors come to its private probe alone', async () => {
    await assignments.close();
    await wire.close();
    wire = await createBusOfProbe({ organisation: randomUUID() });
    await open();
    const mine = assignmentOf('https://inside.example/', { probe: wire.probe.id });
    await wire.coordinator.store(deltaOf(wire.probe.id, mine), JSON.stringify({ v: 1, ...mine }));
    await wire.coordinator.store(
      deltaOf(randomUUID(), { monitor: randomUUID(), ordinal: 0 }),
      JSON.stringify({ v: 1, ...mine }),
    );
    await publish(assignmentOf('https://public.example/'));
    assignments.attach(await wire.connect());
    await expect.poll(() => [...held.keys()], waitFor).toEqual([mine.monitor]);
  });

  test('go on coming after the connection broke', async () => {
    assignments.attach(await wire.connect());
    await publish(assignmentOf('https://a.example/'));
    await expect.poll(() => held.size, waitFor).toBe(1);
    wire.proxy.cut();
    await publish(assignmentOf('https://b.example/'));
    wire.proxy.heal();
    await expect.poll(() => held.size, waitFor).toBe(2);
  });
});

describe('heartbeat ping view', () => {
  test('a view of the pings settles the longer, the longer the bus was away, and never for long', () => {
    expect(
      [0, 1_000, 60_000, 300_000, 3_600_000].map((away) => settlingAfter(away, 5_000)),
    ).toEqual([5_000, 5_100, 11_000, 35_000, 35_000]);
  });

  test('a view settles until a ping receiver has dialled a second time, so that a ping which one still holds raises no alarm', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const view = createPingView({ log: silentLog });
      let tell: (status: BusStatus) => void = () => undefined;
      const bus = {
        isConnected: () => true,
        onStatus: (listener: typeof tell) => {
          tell = listener;
          return { stop: () => undefined };
        },
      };
      view.attach(bus, { read: async () => undefined });
      vi.advanceTimersByTime(60_000);
      expect(view.isSeeing()).toBe(true);
      tell('disconnected');
      tell('connected');
      vi.advanceTimersByTime(2 * longestDialWaitMs);
      expect(view.isSeeing()).toBe(false);
      vi.advanceTimersByTime(60_000);
      expect(view.isSeeing()).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  test('a view shows nothing of a monitor while this probe has a ping of it on its own disk', async () => {
    const view = createPingView({ log: silentLog, settlingMs: 0 });
    const bus = { isConnected: () => true, onStatus: () => ({ stop: () => undefined }) };
    view.attach(bus, { read: async () => noPings });
    let held = 'a';
    view.attachSpool({ holds: (monitor) => monitor === held });
    expect([await view.read('o', 'a'), await view.read('o', 'b')]).toEqual([undefined, noPings]);
    held = '';
    expect(await view.read('o', 'a')).toEqual(noPings);
  });
});

describe('the deadlines that a probe judges', () => {
  const self = '0198f6a0-0000-7000-8000-00000000000a';
  const roster = {
    epoch: 1,
    probes: [
      {
        id: self,
        name: 'a',
        continent: 'Asia',
        organisation: null,
        healthy: true,
        quarantined: false,
      },
    ],
  } as const;

  const open: Heartbeats[] = [];
  afterEach(() => {
    for (const one of open.splice(0)) one.stop();
  });

  /**
   * A probe's heartbeats by a clock that a test sets; what is judged is good until the next
   * deadline, `everyMs` later.
   */
  const judge = (everyMs: number, isSeeing = () => true, isAtOnce = true) => {
    const hour = 3_600_000;
    let shift = 0;
    const clock = { now: () => Date.now() + shift };
    const judged: number[] = [];
    const heartbeats = createHeartbeats({
      self,
      clock,
      isSeeing,
      onDue: ({ monitor }) => {
        const now = clock.now();
        judged.push(now);
        heartbeats.judged(monitor, isSeeing() ? now + everyMs : null);
      },
    });
    open.push(heartbeats);
    heartbeats.setRoster(roster);
    if (isAtOnce) heartbeats.start();
    return {
      heartbeats,
      judged,
      setClock: (hours: number) => {
        shift += hours * hour;
      },
      more: (count: number) => eventually(() => judged.length >= count),
    };
  };

  const heartbeat = assignmentOf('', { kind: 'heartbeat' });

  test('are met one after the other, and dropped with the monitor', async () => {
    const { heartbeats, judged, more } = judge(100);
    heartbeats.put(heartbeat);
    await more(2);
    expect(heartbeats.count()).toBe(1);
    heartbeats.drop(heartbeat.monitor);
    const before = judged.length;
    const other = { ...heartbeat, monitor: '0198f6a0-0000-7000-8000-00000000000b' };
    heartbeats.put(other);
    await more(before + 2);
    expect(heartbeats.count()).toBe(1);
  });

  test('of those known before the start are met, however long the start took', ({
    onTestFinished,
  }) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { heartbeats, judged } = judge(3_600_000, () => true, false);
    const ids = Array.from(
      { length: 20 },
      (_, index) => `0198f6a0-0000-7000-8000-0000000001${String(index).padStart(2, '0')}`,
    );
    for (const [ordinal, monitor] of ids.entries())
      heartbeats.put({ ...heartbeat, monitor, ordinal });
    vi.advanceTimersByTime(5_000);
    heartbeats.start();
    vi.advanceTimersByTime(5_000);
    expect(judged).toHaveLength(ids.length);
  });

  test('do not wait for the old time when the clock is set back: a host that was fast would judge nothing until then', async () => {
    const { heartbeats, judged, more, setClock } = judge(100);
    heartbeats.put(heartbeat);
    await more(1);
    setClock(-24);
    await more(judged.length + 2);
    const late = { ...heartbeat, monitor: '0198f6a0-0000-7000-8000-00000000000c' };
    heartbeats.put(late);
    await more(judged.length + 4);
  });

  test('that were set by a clock gone ahead are those of the right one again', async () => {
    const { heartbeats, judged, more, setClock } = judge(600_000);
    heartbeats.put(heartbeat);
    await more(1);
    setClock(2);
    await more(2);
    setClock(-2);
    // Its deadline by the wrong clock is hours away; by the right one nobody knows, so it is looked
    // at again.
    await more(3);
    expect(judged.at(-1)).toBeLessThan(Date.now() + 60_000);
  });
});
