import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createOldMark, createReporter, type Reporter } from '../../../probe/spool/reporter.ts';
import {
  afterLoss,
  askedToRewind,
  came,
  committedUpTo,
  failed,
  isLost,
  isRewindDue,
  landed,
  landedUpTo,
  left,
  maxFlights,
  mayLeave,
  newRoute,
  type Route,
  reconnected,
  rewoundTo,
  taken,
} from '../../../probe/spool/senders.ts';
import { openSpool, type Spool } from '../../../probe/spool/store.ts';
import { receiptMessage } from '../../../shared/bus/messages.ts';
import type { Bus } from '../../../shared/bus/nats.ts';
import { partitionConsumer, streams, subjects } from '../../../shared/bus/subjects.ts';
import { passed } from '../../support/eventually.ts';
import { monitorIn, resultOf } from '../support/results.ts';
import {
  type BusOfProbe,
  createBusOfProbe,
  silentLog,
  startTaker,
  type Taker,
} from '../support/surroundings.ts';

describe('the reporter', () => {
  let folder: string;
  let wire: BusOfProbe;
  let spool: Spool;
  let reporter: Reporter;
  let taker: Taker | undefined;

  const openReporter = async (patienceMs = 60_000): Promise<void> => {
    spool = await openSpool({ folder, mostBytes: 16 * 1024 * 1024, log: silentLog });
    reporter = createReporter({
      probe: wire.probe.id,
      continent: wire.probe.continent,
      key: wire.key,
      spool,
      patienceMs,
      log: silentLog,
    });
  };

  const attach = async (): Promise<Bus> => {
    const bus = await wire.connect();
    bus.subscribe(subjects.receipt(wire.probe.id), (message) =>
      reporter.receive(receiptMessage.parse(JSON.parse(Buffer.from(message.data).toString()))),
    );
    reporter.attach(bus);
    return bus;
  };

  const take = (): Taker => {
    taker = startTaker(wire.coordinator, wire.probe.id, wire.key.id);
    return taker;
  };

  const fill = (from: number, to: number, urgent = false): void => {
    for (let at = from; at < to; at += 1) reporter.report(resultOf(monitorIn(at % 32), at), urgent);
  };

  const range = (from: number, to: number): number[] =>
    Array.from({ length: to - from }, (_, number) => from + number);
  const times = (of: Taker): number[] => of.accepted.map(({ at }) => at).toSorted((a, b) => a - b);
  const waitFor = { timeout: 40_000, interval: 20 };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-reporter-'));
    wire = await createBusOfProbe();
    await openReporter();
  });
  afterEach(async () => {
    await taker?.stop();
    taker = undefined;
    await reporter.close();
    await wire.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('has its results on disk at once, not only when it sends them: a probe may be killed in between', async () => {
    fill(0, 40);
    // As soon as what it had to do in this turn is done, and long before anything would be sent.
    await expect
      .poll(() => spool.status().bytes, { timeout: 30_000, interval: 5 })
      .toBeGreaterThan(0);
    const again = await openSpool({ folder, mostBytes: 16 * 1024 * 1024, log: silentLog });
    expect(again.status().waiting).toBe(40);
    await again.close();
  });

  test('hands every result over once, signed, and the spool is empty when they are committed', async () => {
    const taken = take();
    await attach();
    fill(0, 2_000);
    await expect.poll(() => taken.accepted.length, waitFor).toBe(2_000);
    expect(times(taken)).toEqual(range(0, 2_000));
    expect(taken.refusals).toEqual([]);
    await expect.poll(() => spool.status().waiting, waitFor).toBe(0);
    expect(reporter.handedOver()).toBe(true);
    expect(taken.batches.every(({ seqs }) => seqs.length <= 500)).toBe(true);
  });

  test('sends a failure at once, together with what waits of its partition, and leaves the other partitions waiting', async () => {
    const taken = take();
    await attach();
    reporter.report(resultOf(monitorIn(3), 1), false);
    reporter.report(resultOf(monitorIn(4), 2), false);
    reporter.report(resultOf(monitorIn(3), 3, { outcome: 'fail' }), true);
    await expect.poll(() => taken.accepted.length, waitFor).toBeGreaterThan(0);
    expect(taken.accepted.map(({ at }) => at)).toEqual([1, 3]);
    expect(taken.batches).toHaveLength(1);
    await expect.poll(() => taken.accepted.length, waitFor).toBe(3);
  });

  test('sends many failures together, half a second later at most', async () => {
    const taken = take();
    await attach();
    const failOften = async (from: number, times: number): Promise<void> => {
      for (let nth = 0; nth < times; nth += 1) {
        for (let more = 0; more < 10; more += 1)
          reporter.report(
            resultOf(monitorIn(3), from + 10 * nth + more, { outcome: 'fail' }),
            true,
          );
        await passed(10);
      }
    };
    await failOften(0, 60);
    const before = taken.batches.length;
    await failOften(600, 100);
    await expect.poll(() => taken.accepted.length, waitFor).toBe(1_600);
    expect(taken.batches.length - before).toBeLessThan(50);
    // One alone does not wait for others again.
    await passed(1_200);
    const last = taken.batches.length;
    reporter.report(resultOf(monitorIn(3), 1_600, { outcome: 'fail' }), true);
    reporter.report(resultOf(monitorIn(4), 1_601), false);
    await expect.poll(() => taken.batches.length, waitFor).toBeGreaterThan(last);
    expect(taken.accepted.at(-1)?.at).toBe(1_600);
  });

  test('keeps results while there is no bus, and hands them over in order with their original times', async () => {
    fill(0, 5_000);
    expect(spool.status().waiting).toBe(5_000);
    const taken = take();
    await attach();
    await expect.poll(() => taken.accepted.length, waitFor).toBe(5_000);
    for (let partition = 0; partition < 32; partition += 1) {
      const mine = taken.accepted
        .filter(({ monitor }) => monitor === monitorIn(partition))
        .map(({ at }) => at);
      expect(mine).toEqual(mine.toSorted((a, b) => a - b));
    }
    await expect.poll(() => reporter.handedOver(), waitFor).toBe(true);
  });

  test('loses nothing when the connection breaks again and again', async () => {
    const taken = take();
    await attach();
    for (let round = 0; round < 4; round += 1) {
      fill(round * 1_000, round * 1_000 + 500, true);
      await expect.poll(() => taken.accepted.length, waitFor).toBeGreaterThan(round * 1_000);
      wire.proxy.cut();
      fill(round * 1_000 + 500, (round + 1) * 1_000, true);
      wire.proxy.heal();
    }
    await expect.poll(() => taken.accepted.length, waitFor).toBe(4_000);
    expect(times(taken)).toEqual(range(0, 4_000));
    await expect.poll(() => spool.status().waiting, waitFor).toBe(0);
  });

  test('sends again from what is committed when the coordinator finds a gap', async () => {
    const taken = take();
    await attach();
    taken.isDeaf = true;
    fill(0, 64, true);
    await expect.poll(taken.lost, waitFor).toBe(32);
    taken.isDeaf = false;
    fill(64, 96, true);
    await expect.poll(() => taken.accepted.length, waitFor).toBe(96);
    expect(times(taken)).toEqual(range(0, 96));
    expect(taken.batches.some(({ after }) => after !== null)).toBe(true);
    await expect.poll(() => spool.status().waiting, waitFor).toBe(0);
  });

  test('sends again what a bus that was wiped has lost, although nothing new follows it', async () => {
    await reporter.close();
    await openReporter(400);
    await attach();
    fill(0, 64, true);
    const inStream = async () =>
      (await wire.coordinator.streamState(streams.results.name))?.messages;
    await expect.poll(inStream, waitFor).toBeGreaterThanOrEqual(32);
    await wire.coordinator.deleteStream(streams.results.name);
    await wire.coordinator.ensureStream(streams.results);
    for (let partition = 0; partition < 32; partition += 1) {
      await wire.coordinator.ensureConsumer(streams.results.name, partitionConsumer(partition));
    }
    const taken = take();
    // As presence does: a coordinator is there, and knows of nothing.
    reporter.onReply({ committed: {} });
    await expect.poll(() => taken.accepted.length, waitFor).toBe(64);
    expect(times(taken)).toEqual(range(0, 64));
  });

  test('waits while the stream does not take results, and goes on when it does', async () => {
    await wire.coordinator.deleteStream(streams.results.name);
    await attach();
    fill(0, 100, true);
    await expect.poll(() => reporter.handedOver(), { timeout: 40_000, interval: 50 }).toBe(false);
    await wire.coordinator.ensureStream(streams.results);
    for (let partition = 0; partition < 32; partition += 1) {
      await wire.coordinator.ensureConsumer(streams.results.name, partitionConsumer(partition));
    }
    const taken = take();
    await expect.poll(() => taken.accepted.length, { timeout: 40_000, interval: 50 }).toBe(100);
  });

  test('hands over what an earlier run left on disk', async () => {
    fill(0, 300);
    await reporter.close();
    await openReporter();
    const taken = take();
    await attach();
    await expect.poll(() => taken.accepted.length, waitFor).toBe(300);
    expect(times(taken)).toEqual(range(0, 300));
  });

  test('is not handed over while results older than three seconds have not landed', async () => {
    fill(0, 10);
    await expect.poll(() => reporter.handedOver(), waitFor).toBe(false);
    take();
    await attach();
    await expect.poll(() => reporter.handedOver(), waitFor).toBe(true);
  });

  test('pays no heed to receipts of another generation', async () => {
    fill(0, 10);
    reporter.receive({ generation: wire.probe.id, committed: { 0: 1_000 }, again: [] });
    expect(spool.status().waiting).toBe(10);
  });
});

describe('the route of a partition', () => {
  /** A route with these numbers in flight, each the last of its batch. */
  const flying = (...lasts: readonly number[]) => {
    let route: Route = newRoute(40_000);
    const flights = lasts.map((last, nth) => {
      const gone = left(route, last, 1_000 + nth);
      route = gone.route;
      return gone.flight;
    });
    return { route, flights };
  };

  test('waits since the first result that came, until what waits is taken', () => {
    const waiting = came(came(newRoute(1), 5), 9);
    expect(waiting.waitingSince).toBe(5);
    expect(taken(waiting).waitingSince).toBeUndefined();
  });

  test('has landed up to where the first open flight began, whatever landed behind it', () => {
    const { route, flights } = flying(10, 20, 30);
    const [first, second] = flights;
    if (!first || !second) throw new Error('nothing flies');
    expect(landedUpTo(route)).toBe(0);
    expect(landedUpTo(landed(route, second))).toBe(0);
    expect(landedUpTo(landed(landed(route, second), first))).toBe(20);
  });

  test('limits the number in flight', () => {
    const lasts = Array.from({ length: maxFlights }, (_, nth) => nth + 1);
    expect(mayLeave(flying(...lasts.slice(1)).route)).toBe(true);
    expect(mayLeave(flying(...lasts).route)).toBe(false);
  });

  test('goes back to before a flight that failed, and ignores one that was given up with the connection', () => {
    const { route, flights } = flying(10, 20);
    const [first, second] = flights;
    if (!first || !second) throw new Error('nothing flies');
    const back = failed(route, second);
    expect(back).toMatchObject({ sent: 10, flights: [first] });
    expect(failed(reconnected(route, 5_000), second)).toBeUndefined();
    // An earlier one that fails afterwards takes all behind it along.
    expect(back && failed(back, first)).toMatchObject({ sent: 0, flights: [] });
  });

  test('sends again what was in flight when the connection broke, and is less patient with a bus that may have come back empty', () => {
    const { route, flights } = flying(10, 20);
    const [first] = flights;
    if (!first) throw new Error('nothing flies');
    expect(reconnected(landed(route, first), 9_000)).toMatchObject({
      sent: 10,
      flights: [],
      outstandingSince: 9_000,
      patienceMs: 10_000,
    });
    expect(reconnected(newRoute(40_000), 9_000)).toMatchObject({
      sent: 0,
      outstandingSince: undefined,
      patienceMs: 40_000,
    });
  });

  test('goes back to what is committed, at most once a second on a reported gap, and nowhere if nothing beyond was sent', () => {
    const { route } = flying(10);
    const asked = askedToRewind(route);
    expect(isRewindDue(route, 3_000)).toBe(false);
    expect(isRewindDue(asked, 3_000)).toBe(true);
    const back = rewoundTo(asked, 4, 3_000);
    expect(back).toMatchObject({ sent: 4, rewoundAt: 3_000 });
    expect(back && isRewindDue(back, 3_900)).toBe(false);
    expect(rewoundTo(route, 10, 3_000)).toBeUndefined();
  });

  test('is lost when what landed is not committed in its time, and each time waits twice as long, ten minutes at most', () => {
    const { route, flights } = flying(10);
    const [only] = flights;
    if (!only) throw new Error('nothing flies');
    const down = landed(route, only);
    expect(isLost(route, 100_000)).toBe(false);
    expect(isLost(down, 40_999)).toBe(false);
    expect(isLost(down, 41_000)).toBe(true);
    expect(isLost(committedUpTo(down, 10, 2_000, 40_000), 100_000)).toBe(false);
    expect(isLost(committedUpTo(down, 5, 2_000, 40_000), 42_000)).toBe(true);
    let again = down;
    for (let time = 0; time < 8; time += 1) again = afterLoss(again);
    expect(again.patienceMs).toBe(600_000);
  });
});

describe('the age limit', () => {
  test('results of three seconds ago are old, a second after the last of them may have left; later ones are not', () => {
    const mark = createOldMark(0, 5);
    const given = (at: number): number => 5 + at / 100;
    for (let at = 500; at <= 20_000; at += 500) {
      mark.note(at, given(at));
      expect(mark.seq()).toBeLessThanOrEqual(Math.max(5, given(at - 3_000)));
      expect(mark.seq()).toBeGreaterThanOrEqual(
        Math.min(given(at), Math.max(5, given(at - 4_000))),
      );
    }
  });
});
