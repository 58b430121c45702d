import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createLog } from '../../../shared/base/log.ts';
import type { StreamKeeping } from '../../../shared/bus/jetstream.ts';
import { type Bus, connectBus } from '../../../shared/bus/nats.ts';
import { type Connection, startPull } from '../../../shared/bus/pull.ts';
import { createStoring } from '../../../shared/bus/storing.ts';
import { streams } from '../../../shared/bus/subjects.ts';
import { type OwnBus, startOwnBus } from '../../support/buses.ts';
import { eventually } from '../../support/eventually.ts';
import { hasBinaries } from '../../support/services.ts';

describe('pull', () => {
  const connectionThat = (publish: Connection['publish']): Connection => ({
    log: createLog({ name: 'test', level: 'silent' }),
    createInbox: () => '_INBOX.test',
    publish,
    listen: () => ({ stop: () => undefined }),
    onStatus: () => ({ stop: () => undefined }),
  });

  test('a pull that is stopped while it begins asks for nothing, and ends without waiting for an answer', async () => {
    const asked: string[] = [];
    const beginning = Promise.withResolvers<void>();
    const begins = Promise.withResolvers<void>();
    const pull = startPull(
      connectionThat((subject) => void asked.push(subject)),
      {
        stream: 'S',
        consumer: 'C',
        batch: 1,
        onBegin: () => {
          begins.resolve();
          return beginning.promise;
        },
        onMessages: async () => undefined,
      },
    );
    await begins.promise;
    const stopped = pull.stop();
    beginning.resolve();
    await stopped;
    expect(asked).toEqual([]);
  });

  test('a pull that is stopped while its first request hangs ends all the same', async () => {
    const begins = Promise.withResolvers<void>();
    const pull = startPull(
      connectionThat(() => undefined),
      {
        stream: 'S',
        consumer: 'C',
        batch: 1,
        onBegin: () => {
          begins.resolve();
          return new Promise<void>(() => undefined);
        },
        onMessages: async () => undefined,
      },
    );
    await begins.promise;
    expect(await pull.stop().then(() => 'ended')).toBe('ended');
  });

  test('a pull that is stopped while the creation of its consumer hangs ends all the same', async () => {
    const misses = Promise.withResolvers<void>();
    let hear: Parameters<Connection['listen']>[1] | undefined;
    const pull = startPull(
      {
        ...connectionThat((_, __, inbox) => {
          const message = {
            subject: inbox ?? '',
            data: new Uint8Array(),
            header: () => undefined,
            respond: () => false,
            reply: undefined,
          };
          setImmediate(() =>
            hear?.({ message, reply: '', status: 503, description: 'No Responders' }),
          );
        }),
        listen: (_, handler) => {
          hear = handler;
          return { stop: () => undefined };
        },
      },
      {
        stream: 'S',
        consumer: 'C',
        batch: 1,
        onMissing: () => {
          misses.resolve();
          return new Promise<void>(() => undefined);
        },
        onMessages: async () => undefined,
      },
    );
    await misses.promise;
    expect(await pull.stop().then(() => 'ended')).toBe('ended');
  });
});

describe('stream storing', () => {
  /** What was sent, by its reply subject, and a way to answer it. */
  const createWire = () => {
    const replies: string[] = [];
    let hear: (subject: string, data: Uint8Array, status: number) => void = () => undefined;
    let listeners = 0;
    const storing = createStoring({
      inbox: '_INBOX.me',
      listen: (subject, onAnswer) => {
        expect(subject).toBe('_INBOX.me.*');
        listeners += 1;
        hear = onAnswer;
      },
      read: (data) => {
        const text = Buffer.from(data).toString();
        if (text === 'no') throw new Error('the stream is full');
        return text;
      },
    });
    return {
      storing,
      replies,
      listeners: () => listeners,
      answer: (reply: string | undefined, text: string, status = 0) =>
        hear(reply ?? '', Buffer.from(text), status),
      store: (subject: string, timeoutMs = 5_000) =>
        storing.store(subject, timeoutMs, (reply) => void replies.push(reply)),
    };
  };

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('each message gets the answer to it, in whatever order they come, through one subscription', async () => {
    const { store, replies, answer, listeners } = createWire();
    const stored = ['a', 'b', 'c'].map((subject) => store(subject));
    for (const place of [2, 0, 1]) answer(replies[place], `for ${place}`);
    expect(await Promise.all(stored)).toEqual(['for 0', 'for 1', 'for 2']);
    expect(listeners()).toBe(1);
  });

  test('the answer to a message that was given up does not count for the one in its place', async () => {
    const { store, replies, answer } = createWire();
    const late = store('a', 1_000);
    vi.advanceTimersByTime(999);
    vi.advanceTimersByTime(200);
    await expect(late).rejects.toThrow('did not acknowledge a in time');
    const next = store('b');
    answer(replies[0], 'late');
    answer(replies[1], 'in time');
    expect(await next).toBe('in time');
    answer(replies[1], 'twice');
  });

  test('each message has its own time limit, and the timer ends once all are answered', async () => {
    const { store, replies, answer } = createWire();
    const patient = store('patient', 5_000);
    const hasty = store('hasty', 100);
    vi.advanceTimersByTime(200);
    await expect(hasty).rejects.toThrow('hasty');
    expect(vi.getTimerCount()).toBe(1);
    answer(replies[0], 'here');
    expect(await patient).toBe('here');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a refusal of the stream, no listener, and a message that cannot be sent are errors of that message alone', async () => {
    const { storing, store, replies, answer } = createWire();
    const [refused, unheard, well] = [store('full'), store('nowhere'), store('well')];
    const unsent = storing.store('closed', 5_000, () => {
      throw new Error('the connection is closed');
    });
    answer(replies[0], 'no');
    answer(replies[1], '', 503);
    answer(replies[2], 'yes');
    await expect(refused).rejects.toThrow('the stream is full');
    await expect(unheard).rejects.toThrow('no stream stores nowhere');
    await expect(unsent).rejects.toThrow('the connection is closed');
    expect(await well).toBe('yes');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a forbidden message fails at once; the end of the connection fails all that are under way', async () => {
    const { storing, store } = createWire();
    const [forbidden, other] = [store('foreign'), store('own')];
    storing.forbid('foreign', new Error('no right to'));
    await expect(forbidden).rejects.toThrow('no right to');
    storing.giveUp('the connection was closed');
    await expect(other).rejects.toThrow('closed before the bus acknowledged own');
  });
});

/** A bus of three servers, as an operator runs it whose one machine may fail. */
describe('cluster', () => {
  let own: OwnBus;
  const opened: Bus[] = [];

  const join = async (keeping: StreamKeeping = {}): Promise<Bus> => {
    const log = createLog({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });
    const bus = await connectBus({
      url: own.nats.url,
      credentials: own.nats.identity.coordinatorCredentials,
      name: 'test',
      log,
      keeping,
    });
    opened.push(bus);
    return bus;
  };

  beforeAll(async () => {
    if (!hasBinaries()) return;
    own = await startOwnBus({ nodes: 3 });
  });
  afterAll(async () => {
    for (const bus of opened) await bus.close();
    await own?.stop();
  });

  const infoShape = z.object({
    config: z.object({
      num_replicas: z.number(),
      placement: z.object({ tags: z.array(z.string()) }).optional(),
      max_bytes: z.number(),
    }),
    cluster: z.object({
      leader: z.string().optional(),
      replicas: z.array(z.object({ name: z.string() })).optional(),
    }),
  });

  const look = async (bus: Bus, name: string) =>
    infoShape.parse(
      JSON.parse(
        new TextDecoder().decode(
          (await bus.request(`$JS.API.STREAM.INFO.${name}`, '', { timeoutMs: 5_000 })).data,
        ),
      ),
    );

  describe.runIf(hasBinaries())('on a bus of three servers', () => {
    test('a stream is kept by as many servers as the setting says, and by no fewer when a coordinator starts that says less or nothing', async () => {
      const stream = { ...streams.results, name: 'GROWS', subjects: ['grows'] };
      const one = await join();
      expect(await one.ensureStream(stream)).toBe(true);
      expect((await look(one, 'GROWS')).config.num_replicas).toBe(1);
      const three = await join({ replicas: 3 });
      expect(await three.ensureStream(stream)).toBe(false);
      expect((await look(three, 'GROWS')).config.num_replicas).toBe(3);
      await one.ensureStream(stream);
      await (await join({ replicas: 1 })).ensureStream({ ...stream, maxBytes: 2 ** 20 });
      expect((await look(one, 'GROWS')).config).toMatchObject({
        num_replicas: 3,
        max_bytes: 2 ** 20,
      });
    });

    test('a stream is placed by the setting, also one that grows at once, and stays there without it', async () => {
      const stream = { ...streams.results, name: 'MOVES', subjects: ['moves'] };
      const first = await join({ placement: { tags: ['node:2'] } });
      await first.ensureStream(stream);
      expect((await look(first, 'MOVES')).cluster.leader).toBe('node-2');
      await (await join()).ensureStream({ ...stream, maxBytes: 2 ** 20 });
      expect((await look(first, 'MOVES')).config.placement).toEqual({ tags: ['node:2'] });
      await (await join({ replicas: 3, placement: { tags: ['kind:bus'] } })).ensureStream(stream);
      await eventually(async () => (await look(first, 'MOVES')).config.num_replicas === 3);
      expect((await look(first, 'MOVES')).config.placement).toEqual({ tags: ['kind:bus'] });
    });

    test('a stream that cannot have so many replicas stays as it is, and is used', async () => {
      const stream = { ...streams.results, name: 'STAYS', subjects: ['stays'] };
      const bus = await join();
      await bus.ensureStream(stream);
      const many = await join({ replicas: 5 });
      await many.ensureStream(stream);
      expect(many.refusedStreams()).toEqual(['STAYS']);
      expect((await look(bus, 'STAYS')).config.num_replicas).toBe(1);
      expect((await bus.store('stays', 'x')).seq).toBe(1);
    });

    test('a stream counts its servers that are away, or were never given', async () => {
      const bus = await join({ replicas: 3 });
      await bus.ensureStream({ ...streams.results, name: 'SHORT', subjects: ['short'] });
      const five = await join({ replicas: 5 });
      // While they choose a leader, nobody answers.
      const missing = async (of: Bus) =>
        (await of.streamState('SHORT').catch(() => undefined))?.missing;
      expect(await eventually(async () => (await missing(bus)) === 0)).toBe(true);
      expect(await eventually(async () => (await missing(five)) === 2)).toBe(true);
      await own.nodes[2]?.kill();
      expect(await eventually(async () => (await missing(bus)) === 1)).toBe(true);
      expect(await eventually(async () => (await missing(five)) === 3)).toBe(true);
    });
  });
});
