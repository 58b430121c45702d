import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { createDirectory } from '../../../coordinator/probes/directory.ts';
import {
  createDuplicateProbes,
  noSessions,
  noteSession,
  type Sessions,
  watchConnections,
} from '../../../coordinator/probes/duplicates.ts';
import { createReceipts } from '../../../coordinator/probes/presence.ts';
import { judgeSilence } from '../../../coordinator/probes/roster.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { type Message, type ReceiptMessage, receiptMessage } from '../../../shared/bus/messages.ts';
import { connectBus } from '../../../shared/bus/nats.ts';
import { createNetwork, type Network, testLog } from '../../support/network.ts';
import { probeRow } from '../../support/probe-rows.ts';
import { speakAs } from '../../support/probes.ts';

describe('of several processes with the credentials of one probe', () => {
  /**
   * What a listener makes of presences, each `[heard at, id, started at, spoken at]` in seconds.
   */
  const listenTo = (
    said: readonly (readonly [at: number, id: string, began: number, spoken: number])[],
  ) => {
    let sessions: Sessions = noSessions;
    return said.map(([at, id, began, spoken]) => {
      const heard = noteSession(sessions, { id, up_ms: (spoken - began) * 1_000 }, at * 1_000);
      ({ sessions } = heard);
      return heard.ends ? 'ends' : heard.isOlder ? 'older' : 'stays';
    });
  };

  /** Heard as soon as it is spoken. */
  const listen = (said: readonly (readonly [at: number, id: string, began: number])[]) =>
    listenTo(said.map(([at, id, began]) => [at, id, began, at] as const));

  test('the only one stays', () => {
    expect(listen(Array.from({ length: 10 }, (_, at) => [at * 5, 'a', 0] as const))).toEqual(
      Array(10).fill('stays'),
    );
  });

  test('the later one is sent everything again, once in a while, if it came with an empty folder', () => {
    const emptied: string[] = [];
    const { hear } = createDuplicateProbes({
      log: testLog(),
      onTwice: () => undefined,
      onEmpty: ({ name }) => emptied.push(name),
    });
    const [moved, fresh] = [probeRow('moved', 0), probeRow('fresh', 0)];
    const said = (session: string, up_ms: number, roster_epoch: number) => ({
      session,
      up_ms,
      assignments: { count: 0, digest: '', roster_epoch },
    });
    hear(fresh, said('only', 100, 0));
    hear(moved, said('old', 60_000, 5));
    expect(emptied).toEqual([]);
    hear(moved, said('new', 100, 0));
    hear(moved, said('new', 100, 0));
    expect(emptied).toEqual(['moved']);
    hear(moved, said('old', 60_000, 0));
    expect(emptied).toEqual(['moved']);
    // Killed, and started again without its folder when nobody counts on it any more.
    vi.useFakeTimers({ toFake: ['performance'] });
    hear(fresh, said('only', 5_000, 6));
    vi.advanceTimersByTime(600_000);
    hear(fresh, said('again', 100, 0));
    vi.useRealTimers();
    expect(emptied).toEqual(['moved', 'fresh']);
  });

  test('the older is told to end, as often as it speaks, and the later one stays', () => {
    const said = [
      [100, 'old', 0],
      [102, 'new', 101],
      [105, 'old', 0],
      [107, 'new', 101],
      [110, 'old', 0],
      [112, 'new', 101],
    ] as const;
    expect(listen(said)).toEqual(['stays', 'stays', 'ends', 'stays', 'ends', 'stays']);
  });

  test('the older is found also by a coordinator that hears the later one first, such as a new one', () => {
    const said = [
      [100, 'new', 90],
      [101, 'old', 0],
      [105, 'new', 90],
      [106, 'old', 0],
    ] as const;
    expect(listen(said)).toEqual(['stays', 'stays', 'stays', 'ends']);
  });

  test('one that took over from one that is gone stays, also when a standstill of ours mixed up their ages', () => {
    expect(
      listen([
        [100, 'gone', 99.9],
        [100, 'next', 99],
        [105, 'next', 99],
        [110, 'next', 99],
      ]),
    ).toEqual(['stays', 'stays', 'stays', 'stays']);
  });

  test('one that hung while another took over is told to end when it comes back, and stays when that one is gone', () => {
    const takenOver = [
      [0, 'hung', -50],
      [20, 'other', 19],
    ] as const;
    expect(
      listen([...takenOver, [21, 'hung', -50], [25, 'other', 19], [26, 'hung', -50]]).at(-1),
    ).toBe('ends');
    expect(listen([...takenOver, [60, 'hung', -50], [65, 'hung', -50]])).toEqual([
      'stays',
      'stays',
      'stays',
      'stays',
    ]);
  });

  test('those that restart again and again are left alone after three times, and told again after a quiet time', () => {
    const said: [number, string, number][] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const at = 10 * turn;
      said.push([at, `p${turn}`, at - 1]);
      if (turn > 0) said.push([at + 1, `p${turn - 1}`, at - 11]);
    }
    const told = listen(said);
    expect(told.filter((word) => word === 'ends')).toHaveLength(3);
    expect(told.slice(-4)).toEqual(['stays', 'older', 'stays', 'older']);
    expect(listen([...said, [500, 'x', 400], [501, 'y', 500.5], [502, 'x', 400]]).at(-1)).toBe(
      'ends',
    );
    const daysLater = said.map(
      ([at, id, began]) => [at + 1_000_000, id, began + 1_000_000] as const,
    );
    expect(listen(daysLater)).toEqual(told);
  });

  test('one that is silent for 15 s is gone', () => {
    const heardAgain = (at: number) =>
      listen([
        [0, 'old', -50],
        [1, 'new', 0],
        [at, 'old', -50],
      ]).at(-1);
    expect(heardAgain(15.999)).toBe('ends');
    expect(heardAgain(16)).toBe('stays');
  });

  test('one that was frozen, killed and started again is one, although a word that it had spoken before comes when the next one speaks', () => {
    const words = [
      [100, 'killed', 0, 100],
      [111, 'next', 110, 111],
      // Spoken at 105, and held up on its way.
      [112, 'killed', 0, 105],
      [116, 'next', 110, 116],
      [117, 'killed', 0, 110],
    ] as const;
    expect(listenTo(words)).toEqual(Array(5).fill('stays'));
    // Who speaks when the other has begun runs beside it.
    expect(listenTo([...words, [118, 'killed', 0, 110.001]]).at(-1)).toBe('ends');
  });

  test('the only one stays, although some of its messages are delayed and make it look younger', () => {
    expect(
      listen([
        [10, 'a', 1],
        [15, 'a', 1],
        [20, 'a', 0],
        [25, 'a', 2],
      ]),
    ).toEqual(['stays', 'stays', 'stays', 'stays']);
  });

  test('the older is told, although a delayed message makes it look younger', () => {
    const said = [
      [101, 'old', 100],
      [102, 'new', 101],
      [107, 'old', 101.5],
      [108, 'new', 101],
    ] as const;
    expect(listen(said)).toEqual(['stays', 'stays', 'ends', 'stays']);
  });

  test('of two of the same age every coordinator tells the same one', () => {
    expect(
      listen([
        [100, 'a', 90],
        [101, 'b', 90],
        [105, 'a', 90],
        [106, 'b', 90],
      ]),
    ).toEqual(['stays', 'stays', 'ends', 'stays']);
    expect(
      listen([
        [100, 'b', 90],
        [101, 'a', 90],
        [105, 'b', 90],
        [106, 'a', 90],
      ]),
    ).toEqual(['stays', 'stays', 'stays', 'ends']);
  });

  test('one that was told is told again however often it speaks, and counts as one of three', () => {
    const pair = (at: number, ...[old, later]: readonly [string, string]) =>
      [
        [at, old, at - 50],
        [at + 1, later, at],
        [at + 2, old, at - 50],
      ] as const;
    const first = [...pair(0, 'a', 'b'), [3, 'a', -50], [4, 'a', -50], [5, 'a', -50]] as const;
    const three = [...first, ...pair(20, 'c', 'd'), ...pair(40, 'e', 'f')] as const;
    expect(listen(three).filter((word) => word === 'ends')).toHaveLength(6);
    expect(listen([...three, [43, 'e', -10]]).at(-1)).toBe('ends');
    // Two later ones have been told since.
    expect(
      listen([
        ...pair(0, 'a', 'b'),
        ...pair(3, 'c', 'd'),
        ...pair(6, 'e', 'f'),
        [9, 'b', 0],
        [10, 'a', -50],
      ]).at(-1),
    ).toBe('ends');
    expect(listen([...three, ...pair(60, 'g', 'h')]).at(-1)).toBe('older');
  });

  test('an order to end counts for five minutes', () => {
    const three = [0, 10, 20].flatMap(
      (at) =>
        [
          [at, `old${at}`, at - 50],
          [at + 1, `new${at}`, at],
          [at + 2, `old${at}`, at - 50],
        ] as const,
    );
    // The first was told at 2 s.
    const fourth = (at: number) =>
      listen([
        ...three,
        [at - 2, 'old', at - 50],
        [at - 1, 'new', at - 2],
        [at, 'old', at - 50],
      ]).at(-1);
    expect(fourth(301.999)).toBe('older');
    expect(fourth(302)).toBe('ends');
  });
});

/** Rule 7: who is lost, in seconds since each was last heard. */
describe('silence of probes', () => {
  const now = 1_000_000;
  const judge = (silent: Readonly<Record<string, number>>, listening = 100_000) =>
    judgeSilence(
      Object.entries(silent).map(([probe, seconds]) => ({ probe, at: now - seconds * 1000 })),
      now - listening,
      now,
    );
  const noOne = { lost: [], busAway: false };

  describe('rule 7: a probe', () => {
    test('is lost when it has been silent for fifteen seconds, and no sooner', () => {
      expect(judge({ a: 15, b: 1, c: 2 })).toEqual({ lost: ['a'], busAway: false });
      expect(judge({ a: 14.999, b: 1, c: 2 })).toEqual(noOne);
      expect(judge({})).toEqual(noOne);
    });

    test('is lost also when it is the only one', () => {
      expect(judge({ a: 15 })).toEqual({ lost: ['a'], busAway: false });
    });

    test('that was never heard counts from the start of listening', () => {
      expect(judge({ a: 999, b: 1, c: 1 }, 14_999)).toEqual(noOne);
      expect(judge({ a: 999, b: 1, c: 1 }, 15_000)).toEqual({ lost: ['a'], busAway: false });
      // By that count these three fell silent together, whenever they were last heard.
      expect(judge({ a: 999, b: 500, c: 50, d: 1 }, 15_000)).toEqual({ lost: [], busAway: true });
    });
  });

  describe('rule 7: when most are silent at once', () => {
    test('it is the bus: no probe is lost yet', () => {
      expect(judge({ a: 16, b: 15, c: 1 })).toEqual({ lost: [], busAway: true });
      expect(judge({ a: 16, b: 15, c: 14 })).toEqual({ lost: [], busAway: true });
    });

    test('half of them are not most', () => {
      expect(judge({ a: 16, b: 15, c: 1, d: 1 })).toEqual({ lost: ['a', 'b'], busAway: false });
      expect(judge({ a: 16, b: 15, c: 15, d: 1, e: 1, f: 1 })).toEqual({
        lost: ['a', 'b', 'c'],
        busAway: false,
      });
    });

    test('at once means within one presence interval and a little', () => {
      // The last of them was heard 9 s ago: who was heard 6 s before that belongs to them, who was
      // heard earlier does not.
      expect(judge({ a: 15, b: 9, c: 1 })).toEqual({ lost: [], busAway: true });
      expect(judge({ a: 15.001, b: 9, c: 1 })).toEqual({ lost: ['a'], busAway: false });
      // Who was heard within a ping has not fallen silent.
      expect(judge({ a: 15, b: 6, c: 1 })).toEqual({ lost: ['a'], busAway: false });
    });

    test('one that was lost before them is lost all the same', () => {
      expect(judge({ a: 60, b: 16, c: 15, d: 15, e: 1 })).toEqual({ lost: ['a'], busAway: true });
    });

    test('the doubt ends after twice the time when others are heard meanwhile, and with the last of them', () => {
      expect(judge({ a: 31, b: 29.999, c: 1 })).toEqual({ lost: [], busAway: true });
      expect(judge({ a: 31, b: 30, c: 1 })).toEqual({ lost: ['a', 'b'], busAway: false });
    });

    test('the doubt lasts as long as no probe is heard', () => {
      expect(judge({ a: 64, b: 60, c: 62 })).toEqual({ lost: [], busAway: true });
    });
  });
});

describe('receipts', () => {
  const generation = newId();

  const receipt = (
    committed: Record<string, number>,
    again: number[] = [],
    of = generation,
  ): ReceiptMessage => receiptMessage.parse({ v: 1, generation: of, committed, again });

  afterEach(() => vi.useRealTimers());

  const gathering = () => {
    vi.useFakeTimers();
    const told: [string, unknown][] = [];
    const receipts = createReceipts({
      bus: {
        publish: (subject, data) =>
          void told.push([subject, receiptMessage.parse(JSON.parse(String(data)))]),
      },
    });
    return { receipts, told };
  };

  test('receipts of several partitions in the same moment are one message; other probes and generations have their own', () => {
    const { receipts, told } = gathering();
    const other = newId();
    receipts.give('receipt.a', receipt({ 1: 10 }));
    receipts.give('receipt.b', receipt({ 1: 5 }));
    receipts.give('receipt.a', receipt({ 2: 20 }, [2]));
    receipts.give('receipt.a', receipt({ 1: 7 }, [], other));
    expect(told).toEqual([]);
    vi.advanceTimersByTime(100);
    expect(told).toEqual([
      ['receipt.a', receipt({ 1: 10, 2: 20 }, [2])],
      ['receipt.b', receipt({ 1: 5 })],
      ['receipt.a', receipt({ 1: 7 }, [], other)],
    ]);
    vi.advanceTimersByTime(1_000);
    expect(told).toHaveLength(3);
  });

  test('the later receipt of a partition counts: how far it is committed, and whether it is requested again', () => {
    const { receipts, told } = gathering();
    receipts.give('receipt.a', receipt({ 1: 10, 2: 4 }, [1, 2]));
    receipts.give('receipt.a', receipt({ 1: 12 }));
    receipts.give('receipt.a', receipt({ 3: 1 }, [3]));
    vi.advanceTimersByTime(100);
    expect(told).toEqual([['receipt.a', receipt({ 1: 12, 2: 4, 3: 1 }, [2, 3])]]);
  });

  test('pending receipts are sent before a coordinator ends', () => {
    const { receipts, told } = gathering();
    receipts.give('receipt.a', receipt({ 1: 10 }));
    receipts.close();
    expect(told).toEqual([['receipt.a', receipt({ 1: 10 })]]);
    vi.advanceTimersByTime(1_000);
    expect(told).toHaveLength(1);
  });
});

describe('one connection', () => {
  let network: Network;
  beforeAll(async () => {
    network = await createNetwork();
  });
  afterAll(() => network.close());

  test('a server that could not be asked who is connected to it is asked again when it next says that it is there', async () => {
    const log = testLog();
    const encode = (content: unknown): Uint8Array =>
      new TextEncoder().encode(JSON.stringify(content));
    const heard = new Map<string, (message: Message) => unknown>();
    const said = (subject: string, content: unknown): Message => ({
      subject,
      data: encode(content),
      header: () => undefined,
      respond: () => false,
      reply: undefined,
    });
    let refusals = 1;
    const asked: string[] = [];
    const displacer = await watchConnections({
      account: 'A',
      clock: systemClock,
      log,
      isLeader: () => false,
      onTwice: () => undefined,
      directory: await createDirectory({ sql: network.sql, log }),
      system: {
        subscribe: (subject, handle) => {
          heard.set(subject, handle);
          return { stop: () => undefined };
        },
        request: async (subject) => {
          asked.push(subject);
          if (!subject.includes('.SERVER.'))
            return said(subject, { server: { id: 'one' }, data: { connections: [] } });
          refusals -= 1;
          if (refusals >= 0) throw new Error('no answer');
          return said(subject, {
            server: { id: 'two' },
            data: { connections: [{ cid: 7, authorized_user: 'U', ip: '192.0.2.7' }] },
          });
        },
      },
    });
    const isThere = async (server: string): Promise<void> => {
      await heard.get('$SYS.SERVER.*.STATSZ')?.(said(`$SYS.SERVER.${server}.STATSZ`, {}));
    };
    await isThere('two');
    expect(displacer.addressOf('U')).toBeUndefined();
    await isThere('two');
    expect(displacer.addressOf('U')).toBe('192.0.2.7');
    const before = asked.length;
    await isThere('one');
    await isThere('two');
    expect(asked.length).toBe(before);
    displacer.stop();
  });

  const [major = 0, minor = 0] = inject('services').nats.version;

  test.skipIf(major === 2 && minor < 10)(
    'a newer connection displaces the older also before the list of probes was read again',
    async () => {
      const log = testLog();
      // Read before the probe is made, and told of nothing: a coordinator whose notification is
      // still on its way.
      const directory = await createDirectory({ sql: network.sql, log });
      const { url, systemCredentials: credentials, account } = network.account;
      const system = await connectBus({ url, credentials, name: 'test of the displacer', log });
      const displacer = await watchConnections({
        system,
        account,
        clock: systemClock,
        log,
        directory,
        isLeader: () => true,
        onTwice: () => undefined,
      });
      await system.flush();
      const made = await network.makeProbe('Europe');
      expect(directory.byId(made.id)).toBeUndefined();
      const older = await speakAs(made);
      const gone = Promise.withResolvers<void>();
      older.bus.onStatus((status) => {
        if (status === 'disconnected') gone.resolve();
      });
      const newer = await speakAs(made);
      await gone.promise;
      expect(newer.bus.isConnected()).toBe(true);
      displacer.stop();
      await older.close();
      await newer.close();
      await system.close();
    },
    60_000,
  );
});
