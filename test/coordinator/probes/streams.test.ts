import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTombstones } from '../../../coordinator/assignments/publishing.ts';
import {
  type Consumer,
  createConsumers,
  createStreamGrowth,
} from '../../../coordinator/probes/bus-keeper.ts';
import { BusRefusal, createManagement } from '../../../shared/bus/jetstream.ts';
import { type Bus, connectBus } from '../../../shared/bus/nats.ts';
import { probeConsumers, streams, subjects } from '../../../shared/bus/subjects.ts';
import { createAccount } from '../../support/services.ts';

/**
 * Durables of probes on a bus of three servers, of which one may be gone: what lies with it nobody
 * answers for.
 */
describe('consumers', () => {
  const durables: readonly Consumer[] = ['a', 'b', 'c'].map((probe) => ({
    stream: 'ASSIGN',
    consumer: probeConsumers.roster(probe),
  }));
  const [name = ''] = durables.map(({ consumer }) => consumer.name);

  /**
   * `falls`: the servers that chance lays the next durables with, one after the other, the last one
   * for ever.
   */
  const servers = ({ falls, isSlow = false }: { falls: number[]; isSlow?: boolean }) => {
    const lies = new Map<string, number>();
    const state = { gone: -1, created: 0, deleted: [] as string[] };
    const answer = (server: number | undefined): void => {
      if (isSlow || (server !== undefined && server === state.gone)) throw new Error('timeout');
    };
    const bus = {
      isConnected: () => true,
      ensureConsumer: async (_stream: string, consumer: { readonly name: string }) => {
        if (!lies.has(consumer.name)) {
          state.created += 1;
          lies.set(consumer.name, (falls.length > 1 ? falls.shift() : falls[0]) ?? 0);
        }
        answer(lies.get(consumer.name));
      },
      deleteConsumer: async (_stream: string, consumer: string) => {
        const server = lies.get(consumer);
        lies.delete(consumer);
        state.deleted.push(consumer);
        answer(server);
      },
      streamState: async () => ({
        messages: 0,
        bytes: 0,
        createdAt: 0,
        missing: state.gone < 0 ? 0 : 1,
      }),
    };
    return { bus, state, lies };
  };

  const log = { info: () => undefined, debug: () => undefined };

  describe('consumers of probes', () => {
    test('on a lost server are created again until they are on a live one; the others stay', async () => {
      const { bus, state, lies } = servers({ falls: [2, 0, 1, 2, 2, 0] });
      const kept = createConsumers({ bus, log });
      await kept.keep(durables);
      state.gone = 2;
      await kept.keep(durables);
      expect([...lies.values()].toSorted()).toEqual([0, 0, 1]);
      expect(new Set(state.deleted)).toEqual(new Set([name]));
      expect(state.deleted).toHaveLength(3);
    });

    test('that do not answer, while no server is lost, stay as they are: the bus is slow, and gets no more work', async () => {
      const { bus, state } = servers({ falls: [0], isSlow: true });
      await expect(createConsumers({ bus, log }).keep(durables)).rejects.toThrow('timeout');
      expect(state).toMatchObject({ created: 3, deleted: [] });
    });

    test('that are refused stay as they are, and delay no other', async () => {
      const { bus, state, lies } = servers({ falls: [0] });
      state.gone = 1;
      const ensureConsumer: typeof bus.ensureConsumer = async (stream, consumer) => {
        if (consumer.name === name) throw new BusRefusal(10_026, 'maximum consumers limit reached');
        await bus.ensureConsumer(stream, consumer);
      };
      await expect(
        createConsumers({ bus: { ...bus, ensureConsumer }, log }).keep(durables),
      ).rejects.toThrow('maximum consumers');
      expect([...lies.keys()]).toEqual(durables.slice(1).map(({ consumer }) => consumer.name));
      expect(state.deleted).toEqual([]);
    });

    test('are renewed and deleted though their server is lost', async () => {
      const { bus, state, lies } = servers({ falls: [2, 2, 2, 0] });
      const kept = createConsumers({ bus, log });
      await kept.keep(durables);
      state.gone = 2;
      await kept.renew(durables.slice(0, 1));
      expect(lies.get(name)).toBe(0);
      await kept.forget(durables);
      expect(lies.size).toBe(0);
    });

    test('that land on the lost server again and again are reported, and created in a later turn', async () => {
      const { bus, state } = servers({ falls: [2] });
      const kept = createConsumers({ bus, log });
      await kept.keep(durables);
      state.gone = 2;
      await expect(kept.keep(durables.slice(0, 1))).rejects.toThrow('timeout');
      state.gone = -1;
      await kept.keep(durables);
    });
  });

  test('lost consumers are looked up when a server has been away for a while, and not during its restart', async () => {
    const { bus, state, lies } = servers({ falls: [2, 0] });
    let now = 0;
    const kept = createConsumers({ bus, log, elapsed: () => now });
    await kept.keep(durables);
    const at = async (ms: number): Promise<number | undefined> => {
      now = ms;
      await kept.remakeLost(() => durables);
      return lies.get(name);
    };
    state.gone = 2;
    expect(await at(0)).toBe(2);
    expect(await at(14_000)).toBe(2);
    state.gone = -1;
    expect(await at(15_000)).toBe(2);
    state.gone = 2;
    expect(await at(20_000)).toBe(2);
    expect(await at(34_000)).toBe(2);
    expect(state.created).toBe(3);
    expect(await at(35_000)).toBe(0);
    expect(state.created).toBe(4);
  });
});

/** Streams that wanted three replicas of servers that were not together yet. */
describe('stream growth', () => {
  const second = 1_000;

  /**
   * Servers that keep all streams with one replica until `areTogether`, and what they were asked
   * for.
   */
  const servers = () => {
    const replicas = new Map<string, number>();
    const state = { areTogether: false, updates: 0 };
    const data = (answer: object) => ({
      data: new TextEncoder().encode(JSON.stringify(answer)),
      headers: undefined,
    });
    const request: Parameters<typeof createManagement>[0] = async (subject, body) => {
      const [, , , action, name = ''] = subject.split('.');
      const asked = typeof body === 'string' && body !== '' ? JSON.parse(body) : {};
      if (action === 'UPDATE') {
        state.updates += 1;
        if (asked.num_replicas > 1 && !state.areTogether)
          return data({
            error: { code: 400, err_code: 10_074, description: 'replicas > 1 not supported' },
          });
        replicas.set(name, asked.num_replicas);
        return data({});
      }
      return data({
        config: { num_replicas: replicas.get(name) ?? 1 },
        cluster: { leader: 'one' },
      });
    };
    return { state, request, replicas };
  };

  test('what was refused is requested again at doubling intervals, until it is granted', async () => {
    const { state, request, replicas } = servers();
    const refusals: string[] = [];
    const management = createManagement(request, {
      keeping: { replicas: 3 },
      onRefused: (stream) => void refusals.push(stream),
    });
    const names = Object.values(streams).map(({ name }) => name);
    for (const stream of Object.values(streams)) await management.ensureStream(stream);
    expect(management.refusedStreams()).toEqual(names);

    let now = 0;
    const said: string[] = [];
    const growth = createStreamGrowth({
      bus: management,
      log: { info: (_: unknown, words?: string) => void said.push(words ?? '') },
      ensureStreams: async () => {
        for (const stream of Object.values(streams)) await management.ensureStream(stream);
      },
      elapsed: () => now,
    });
    /** When it asked within so long, looked at every five seconds. */
    const askedWithin = async (ms: number): Promise<number[]> => {
      const at: number[] = [];
      for (const until = now + ms; now < until; now += 5 * second) {
        const before = refusals.length;
        await growth.tick();
        if (refusals.length > before) at.push(now / second);
      }
      return at;
    };
    expect(await askedWithin(200 * second)).toEqual([10, 30, 70, 150]);
    const far = await askedWithin(3 * 3_600 * second);
    // Never further apart than ten minutes.
    expect(Math.max(...far.map((at, index) => at - (far[index - 1] ?? at)))).toBe(600);
    state.areTogether = true;
    await askedWithin(1_200 * second);
    expect(names.map((name) => replicas.get(name))).toEqual(names.map(() => 3));
    expect(management.refusedStreams()).toEqual([]);
    expect(said).toEqual([expect.stringContaining('have the replicas')]);
    const { updates } = state;
    await askedWithin(3_600 * second);
    expect(state.updates).toBe(updates);
  });
});

describe('a deletion marker', () => {
  const log = pino({ level: 'silent' });
  const week = 7 * 86_400_000;

  let bus: Bus;

  /** How far the coordinator's clock is ahead of what the bus wrote its messages down by. */
  let later: number;

  beforeEach(async () => {
    const { url, coordinatorCredentials: credentials } = await createAccount();
    bus = await connectBus({ url, credentials, name: 'test', log });
    for (const stream of [streams.assignments, streams.pingKeys]) await bus.ensureStream(stream);
    later = week + 60_000;
  });
  afterEach(() => bus.close());

  const tombstonesOn = (onBus: Bus) =>
    createTombstones({ bus: onBus, clock: { now: () => Date.now() + later }, log, keptMs: week });
  const held = async (): Promise<string[]> =>
    [
      ...(await bus.subjectsOf('ASSIGN', '>')),
      ...(await bus.subjectsOf('BEATKEYS', '>')),
    ].toSorted();
  const envelope = (bucket: number): string =>
    subjects.inBucket('Europe', { partition: 0, bucket, item: 0 });
  const [one, two, three] = [envelope(1), envelope(2), envelope(3)];

  test('is removed after a week, of assignments and of heartbeat keys alike; other messages stay', async () => {
    for (const subject of [one, two, three]) await bus.store(subject, '{}');
    for (const key of ['ended', 'good']) await bus.store(subjects.pingKey('shop', key), '{}');
    await bus.store(subjects.roster, '{}');
    await bus.store(one, '');
    await bus.store(subjects.pingKey('shop', 'ended'), '');
    const before = await held();
    const tombstones = tombstonesOn(bus);
    later = week - 60_000;
    await tombstones.tick();
    expect(await held()).toEqual(before);
    later = week + 60_000;
    await tombstones.tick();
    const left = [two, three, 'beatkey.shop.good', 'roster'];
    expect(await held()).toEqual(left);
    // One that was old and live then is found when it has become a tombstone, and an old one.
    await bus.store(three, '');
    later = 0;
    await tombstones.tick();
    expect(await held()).toEqual(left);
    later = week + 60_000;
    await tombstones.tick();
    expect(await held()).toEqual([two, 'beatkey.shop.good', 'roster']);
  });

  test('is found in steps: a tick reads five hundred messages of a stream, and the next continues from there', async () => {
    await Promise.all(
      Array.from({ length: 1_100 }, (_, index) =>
        bus.store(envelope(index), index % 2 === 0 ? '' : '{}'),
      ),
    );
    const tombstones = tombstonesOn(bus);
    const left: number[] = [];
    for (let tick = 0; tick < 3; tick += 1) {
      await tombstones.tick();
      left.push((await held()).length);
    }
    expect(left.at(-1)).toBe(550);
    expect(left[0]).toBeGreaterThanOrEqual(600);
    expect((await bus.last('ASSIGN', one))?.data.length).toBe(2);
  });

  test('of a bucket that is written at the same time removes nothing else', async () => {
    await bus.store(one, '');
    const writing: Bus = {
      ...bus,
      next: async (...which) => {
        const found = await bus.next(...which);
        if (found?.subject === one && found.data.length === 0) await bus.store(one, '{"v":1}');
        return found;
      },
    };
    await tombstonesOn(writing).tick();
    expect((await bus.last('ASSIGN', one))?.data.length).toBe(7);
  });

  test('is found in a recreated stream, although its numbers are small again', async () => {
    const tombstones = tombstonesOn(bus);
    for (const subject of [one, two, three]) await bus.store(subject, '{}');
    await tombstones.tick();
    await bus.deleteStream('ASSIGN');
    await bus.ensureStream(streams.assignments);
    await bus.store(one, '');
    await tombstones.tick();
    expect(await held()).toEqual([]);
  });
});
