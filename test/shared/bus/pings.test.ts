import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import { jsonOf, pingMessage } from '../../../shared/bus/messages.ts';
import { openPingSpool, type PingSpool, type SpooledPing } from '../../../shared/bus/ping-spool.ts';
import {
  createPingBus,
  createPingIntake,
  createPingRecords,
  type KnownKey,
  type PingBus,
  type PingForwarding,
  type PingIntake,
  type PingIntakeDependencies,
} from '../../../shared/bus/pings.ts';
import { partitionOf, probeConsumers, streams, subjects } from '../../../shared/bus/subjects.ts';
import { newPingToken, pingFingerprint } from '../../../shared/checks/heartbeat/config.ts';
import { foldPing, noPings, type Ping } from '../../../shared/checks/heartbeat/state.ts';
import { type BusOfProbe, createBusOfProbe, silentLog } from '../../probe/support/surroundings.ts';
import { eventually } from '../../support/eventually.ts';

/** A ping intake between two ways that each do what the test says, on a real disk. */
describe('a ping intake with a forwarding', () => {
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  type Way = {
    state: 'away' | 'failing' | 'stalling' | 'well';
    readonly came: SpooledPing[];
    tried: number;
  };

  const bodies = ({ came }: Way): string[] => came.map(({ ping }) => ping.body);

  const setUp = async (clock: PingIntakeDependencies['clock'] = { now: Date.now }) => {
    const folder = await mkdtemp(join(tmpdir(), 'antipode-detour-'));
    ends.push(() => rm(folder, { recursive: true, force: true }));
    const bus: Way = { state: 'away', came: [], tried: 0 };
    const forwarding: Way = { state: 'well', came: [], tried: 0 };
    const pingBus: PingBus = {
      isReady: () => bus.state !== 'away',
      recover: async () => undefined,
      handOver: async (entry) => {
        bus.tried += 1;
        if (bus.state !== 'well') throw new Error('the bus does not take it');
        bus.came.push(entry);
      },
    };
    let limit = 500;
    const way: PingForwarding = {
      isOpen: () => forwarding.state !== 'away',
      handOver: async (waiting, signal) => {
        forwarding.tried += 1;
        if (forwarding.state === 'stalling') await once(signal, 'abort');
        if (forwarding.state !== 'well') throw new Error('nobody is there');
        const some = waiting.slice(0, limit);
        forwarding.came.push(...some);
        return { handed: new Set(some.map(({ ping }) => ping.id)), failures: [] };
      },
      close: () => undefined,
    };
    const file = join(folder, 'beats.jsonl');
    const open = async (
      withClock = clock,
    ): Promise<PingIntake & { readonly say: (body: string) => Promise<number> }> => {
      const known = { organisation: newId(), monitor: newId(), until: null };
      const spool = await openPingSpool(file, silentLog);
      const intake = createPingIntake({
        pingBus: () => pingBus,
        forwarding: way,
        spool,
        findKey: () => known,
        ear: 'eu',
        clock: withClock,
        log: silentLog,
      });
      const address = `/beat/${newPingToken()}`;
      let closing: Promise<void> | undefined;
      const close = () => {
        closing ??= intake.close();
        return closing;
      };
      ends.push(close);
      const say = async (body: string) =>
        (await intake.take({ method: 'POST', address, body: async () => Buffer.from(body) }))
          .status;
      return { ...intake, close, say };
    };
    return { bus, forwarding, open, file, takeAtMost: (count: number) => (limit = count) };
  };

  test('sends a ping by it as soon as it is on disk, while the bus is away, and drops it then', async () => {
    const { bus, forwarding, open, file } = await setUp();
    const { say, catchUp } = await open();
    expect(await say('one')).toBe(200);
    await catchUp();
    expect(bodies(forwarding)).toEqual(['one']);
    expect(await say('two')).toBe(200);
    await catchUp();
    expect(bodies(forwarding)).toEqual(['one', 'two']);
    await eventually(async () => (await readFile(file, 'utf8')) === '');
    bus.state = 'well';
    expect(await say('three')).toBe(200);
    expect([bodies(bus), bodies(forwarding)]).toEqual([['three'], ['one', 'two']]);
  });

  test('does not take it while the bus is there', async () => {
    const { bus, forwarding, open } = await setUp();
    bus.state = 'well';
    const { say, catchUp } = await open();
    for (const body of ['one', 'two']) expect(await say(body)).toBe(200);
    await catchUp();
    expect(bodies(bus)).toEqual(['one', 'two']);
    expect(forwarding.tried).toBe(0);
  });

  test('uses it when the bus seems to be there and fails, and skips that bus for a while', async () => {
    const { bus, forwarding, open } = await setUp();
    bus.state = 'failing';
    const { say, catchUp } = await open();
    expect(await say('one')).toBe(200);
    await eventually(() => forwarding.came.length === 1);
    const tried = bus.tried;
    expect(await say('two')).toBe(200);
    await catchUp();
    expect(bodies(forwarding)).toEqual(['one', 'two']);
    expect(bus.tried).toBe(tried);
    // A bus that fails for a moment only is gone back to.
    bus.state = 'well';
    await eventually(async () => (await say('later')) === 200 && bus.came.length > 0, 30_000, 200);
  });

  test('keeps all while neither is there, in order, and hands it over by whichever comes first, some at a time', async () => {
    const { bus, forwarding, open, takeAtMost } = await setUp();
    forwarding.state = 'away';
    const before = await open();
    for (const body of ['one', 'two', 'three', 'four', 'five'])
      expect(await before.say(body)).toBe(200);
    expect([bus.tried, forwarding.tried]).toEqual([0, 0]);
    await before.close();
    const after = await open();
    takeAtMost(2);
    forwarding.state = 'well';
    await after.catchUp();
    expect(bodies(forwarding)).toEqual(['one', 'two', 'three', 'four', 'five']);
    expect(forwarding.tried).toBe(3);
  });

  test('returns to the bus in the middle of it', async () => {
    const { bus, forwarding, open, takeAtMost } = await setUp();
    forwarding.state = 'away';
    const { say, catchUp } = await open();
    for (const body of ['one', 'two', 'three']) expect(await say(body)).toBe(200);
    takeAtMost(1);
    forwarding.state = 'well';
    const catching = catchUp();
    bus.state = 'well';
    await catching;
    await eventually(() => bus.came.length === 2);
    expect([bodies(forwarding), bodies(bus)]).toEqual([['one'], ['two', 'three']]);
  });

  test('is not delayed by it when the bus comes back', async () => {
    const { bus, forwarding, open } = await setUp();
    forwarding.state = 'stalling';
    const { say } = await open();
    expect(await say('one')).toBe(200);
    await eventually(() => forwarding.tried === 1);
    bus.state = 'well';
    await eventually(() => bus.came.length === 1);
    expect([bodies(forwarding), bodies(bus)]).toEqual([[], ['one']]);
    expect(await say('two')).toBe(200);
    expect(bodies(bus)).toEqual(['one', 'two']);
  });

  test('goes to a bus that was lost and is back without a doubt', async () => {
    const { bus, forwarding, open } = await setUp();
    bus.state = 'failing';
    const { say, catchUp } = await open();
    expect(await say('one')).toBe(200);
    await eventually(() => forwarding.came.length === 1);
    bus.state = 'away';
    await catchUp();
    bus.state = 'well';
    expect(await say('two')).toBe(200);
    expect([bodies(forwarding), bodies(bus)]).toEqual([['one'], ['two']]);
  });

  test('keeps what neither accepted, and tries the bus as before when it is the only way', async () => {
    const { bus, forwarding, open } = await setUp();
    [bus.state, forwarding.state] = ['failing', 'failing'];
    const { say, catchUp } = await open();
    expect(await say('one')).toBe(200);
    await eventually(() => forwarding.tried > 0);
    forwarding.state = 'away';
    bus.state = 'well';
    // One may be under way that began before; the next finds the bus, which was in doubt a moment
    // ago.
    await catchUp();
    await catchUp();
    expect(bodies(bus)).toEqual(['one']);
  });

  test('sends nothing that way before it knows the time, and corrects earlier pings then, also after a crash', async () => {
    const dayAhead = Date.now() + 86_400_000;
    const { forwarding, open } = await setUp();
    const before = await open({ now: () => dayAhead, isMeasured: () => false });
    expect(await before.say('early')).toBe(200);
    await before.catchUp();
    expect(forwarding.tried).toBe(0);
    await before.close();
    let isMeasured = false;
    const after = await open({
      now: () => dayAhead,
      isMeasured: () => isMeasured,
      offset: () => -86_400_000,
    });
    forwarding.state = 'failing';
    isMeasured = true;
    await after.catchUp();
    expect(forwarding.tried).toBeGreaterThan(0);
    forwarding.state = 'well';
    await after.catchUp();
    await eventually(() => forwarding.came.length === 1);
    expect(forwarding.came).toMatchObject([{ ping: { body: 'early', at: dayAhead - 86_400_000 } }]);
    expect(forwarding.came[0]).not.toHaveProperty('uncorrected');
  });
});

describe('ping records', () => {
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  const folder = async (): Promise<string> => {
    const made = await mkdtemp(join(tmpdir(), 'antipode-beats-'));
    ends.push(() => rm(made, { recursive: true, force: true }));
    return made;
  };

  const bus = async (organisation?: string): Promise<BusOfProbe> => {
    const made = await createBusOfProbe(organisation === undefined ? {} : { organisation });
    ends.push(made.close);
    for (const stream of [streams.pings, streams.lastPings, streams.pingKeys])
      await made.coordinator.ensureStream(stream);
    await made.coordinator.ensureConsumer(
      streams.pingKeys.name,
      probeConsumers.pingKeys(made.probe.id, made.probe.organisation),
    );
    return made;
  };

  const good = (at: number): Ping => ({
    id: newId(),
    kind: 'success',
    exit_code: null,
    at,
    rid: null,
  });

  describe('the record of a monitor’s pings', () => {
    test('loses none of many changes from several places at once', async () => {
      const { coordinator, connect } = await bus();
      const places = [coordinator, await connect(), await connect()].map((one) =>
        createPingRecords(one),
      );
      const [organisation, monitor] = [newId(), newId()];
      const rids = Array.from({ length: 15 }, () => newId());
      await Promise.all(
        rids.map((rid, index) =>
          places[index % 3]?.change(
            organisation,
            monitor,
            (state) => foldPing(state ?? noPings, { ...good(index), kind: 'start', rid }).state,
          ),
        ),
      );
      const state = await createPingRecords(coordinator).read(organisation, monitor);
      expect(new Set(state?.open.map(({ rid }) => rid))).toEqual(new Set(rids));
      expect((await coordinator.streamState(streams.lastPings.name))?.messages).toBe(1);
    });

    test('is empty when there is none, and when it cannot be read', async () => {
      const { coordinator, connect } = await bus();
      const records = createPingRecords(await connect());
      const [organisation, monitor] = [newId(), newId()];
      expect(await records.read(organisation, monitor)).toBeUndefined();
      await coordinator.store(subjects.lastPings(organisation, monitor), 'rubbish');
      expect(await records.read(organisation, monitor)).toBeUndefined();
      await records.change(
        organisation,
        monitor,
        (state) => foldPing(state ?? noPings, good(7)).state,
      );
      expect((await records.read(organisation, monitor))?.good?.at).toBe(7);
    });

    test('of another organisation is neither readable nor writable for a private probe, nor are its keys', async () => {
      const [own, foreign, monitor] = [newId(), newId(), newId()];
      const { coordinator, connect, probe } = await bus(own);
      const all = createPingRecords(coordinator);
      for (const organisation of [own, foreign]) {
        await all.change(organisation, monitor, () => foldPing(noPings, good(1)).state);
        await coordinator.store(
          subjects.pingKey(organisation, organisation),
          JSON.stringify({ v: 1, organisation, monitor, until: null }),
        );
      }
      const connection = await connect();
      const records = createPingRecords(connection, { timeoutMs: 500 });
      expect((await records.read(own, monitor))?.good?.at).toBe(1);
      await expect(records.read(foreign, monitor)).rejects.toThrow();
      await expect(
        records.change(foreign, monitor, () => foldPing(noPings, good(2)).state),
      ).rejects.toThrow();
      await expect(
        connection.request(
          `$JS.API.DIRECT.GET.${streams.lastPings.name}`,
          JSON.stringify({ seq: 1 }),
          { timeoutMs: 500 },
        ),
      ).rejects.toThrow();
      await expect(
        connection.request(
          `$JS.API.STREAM.MSG.GET.${streams.pingKeys.name}`,
          JSON.stringify({ seq: 1 }),
          { timeoutMs: 500 },
        ),
      ).rejects.toThrow();
      const heard: string[] = [];
      const consumer = probeConsumers.pingKeys(probe.id, own).name;
      const pull = connection.pull({
        stream: streams.pingKeys.name,
        consumer,
        batch: 10,
        onMessages: async (messages) => void heard.push(...messages.map(({ subject }) => subject)),
      });
      ends.push(pull.stop);
      await eventually(() => heard.length > 0);
      expect(heard).toEqual([subjects.pingKey(own, own)]);
      expect((await all.read(foreign, monitor))?.good?.at).toBe(1);
    });
  });

  describe('the ping intake', () => {
    const intake = async (
      spool: PingSpool,
      wire: BusOfProbe,
      known: KnownKey,
      until: number | null = null,
      clock: PingIntakeDependencies['clock'] = { now: Date.now },
    ) => {
      const connection = await wire.connect();
      const pingBus = createPingBus(
        connection,
        createPingRecords(connection, { timeoutMs: 500 }),
        'Europe',
      );
      const made = createPingIntake({
        pingBus: () => pingBus,
        spool,
        findKey: (key) => (key === pingFingerprint(token) ? { ...known, until } : undefined),
        ear: 'eu',
        clock,
        log: silentLog,
      });
      let isClosed = false;
      const close = async () => {
        if (!isClosed) await made.close();
        isClosed = true;
      };
      ends.push(close);
      return { ...made, close };
    };
    const token = newPingToken();
    const known: KnownKey = { organisation: newId(), monitor: newId(), until: null };
    const call = (address: string, method = 'GET', body = '') => ({
      method,
      address,
      body: async () => Buffer.from(body),
    });

    test('has a ping on the bus before it says OK', async () => {
      const wire = await bus();
      const { take } = await intake(
        await openPingSpool(join(await folder(), 'beats.jsonl'), silentLog),
        wire,
        known,
      );
      expect(
        await take(call(`/beat/${token}/7?rid=${newId().toUpperCase()}&utm=x`, 'POST', 'why')),
      ).toMatchObject({
        status: 200,
        text: 'OK',
      });
      const stored = await wire.coordinator.last(
        streams.pings.name,
        subjects.ping('Europe', partitionOf(known.monitor), pingFingerprint(token)),
      );
      expect(JSON.parse(Buffer.from(stored?.data ?? '').toString())).toMatchObject({
        kind: 'fail',
        exit_code: 7,
        body: 'why',
        method: 'POST',
        ear: 'eu',
      });
      expect(
        await createPingRecords(wire.coordinator).read(known.organisation, known.monitor),
      ).toMatchObject({
        latest: 'bad',
        bad: { exit_code: 7 },
      });
    });

    test('dates a ping by when its head came, however long its body takes, and reads no body of an unknown token', async () => {
      const wire = await bus();
      let now = 1_000;
      const spool = await openPingSpool(join(await folder(), 'beats.jsonl'), silentLog);
      const { take } = await intake(spool, wire, known, null, { now: () => now });
      const slow = async () => {
        now += 9_000;
        return Buffer.from('done');
      };
      expect(await take({ method: 'POST', address: `/beat/${token}`, body: slow })).toMatchObject({
        status: 200,
      });
      expect(
        (await createPingRecords(wire.coordinator).read(known.organisation, known.monitor))?.good
          ?.at,
      ).toBe(1_000);
      const unread = () => Promise.reject(new Error('nobody wants this body'));
      for (const address of [`/beat/${newPingToken()}`, '/beat/short', `/beat/${token}?rid=seven`])
        expect([404, 400]).toContain(
          (await take({ method: 'POST', address, body: unread })).status,
        );
      expect((await take({ method: 'PUT', address: `/beat/${token}`, body: unread })).status).toBe(
        405,
      );
    });

    test('corrects the times of earlier pings once it knows the time, also after a crash', async () => {
      const wire = await bus();
      const path = join(await folder(), 'beats.jsonl');
      const dayAhead = 1_700_086_400_000;
      const before = await intake(await openPingSpool(path, silentLog), wire, known, null, {
        now: () => dayAhead,
        isMeasured: () => false,
      });
      expect((await before.take(call(`/beat/${token}`))).status).toBe(200);
      await before.catchUp();
      await before.close();
      expect((await wire.coordinator.streamState(streams.pings.name))?.messages).toBe(0);
      const now = dayAhead - 86_400_000;
      const after = await intake(await openPingSpool(path, silentLog), wire, known, null, {
        now: () => now,
        isMeasured: () => true,
        offset: () => -86_400_000,
      });
      await after.catchUp();
      expect(
        (await createPingRecords(wire.coordinator).read(known.organisation, known.monitor))?.good
          ?.at,
      ).toBe(now);
      expect((await after.take(call(`/beat/${token}/start`))).status).toBe(200);
      expect((await wire.coordinator.streamState(streams.pings.name))?.messages).toBe(2);
    });

    test('corrects such a time once, however often the bus fails and whatever the time is by then', async () => {
      const wire = await bus();
      const spool = await openPingSpool(join(await folder(), 'beats.jsonl'), silentLog);
      const told = { isMeasured: false, offset: 0 };
      const at = 1_700_000_000_000;
      const clock = { now: () => at, isMeasured: () => told.isMeasured, offset: () => told.offset };
      const { take, catchUp } = await intake(spool, wire, known, null, clock);
      expect((await take(call(`/beat/${token}`))).status).toBe(200);
      await wire.coordinator.deleteStream(streams.pings.name);
      Object.assign(told, { isMeasured: true, offset: -1_000 });
      await catchUp();
      expect(spool.waiting()).toBe(1);
      const inRecord = (
        await createPingRecords(wire.coordinator).read(known.organisation, known.monitor)
      )?.good?.at;
      expect(inRecord).toBe(at - 1_000);
      told.offset = -1_033;
      await wire.coordinator.ensureStream(streams.pings);
      await eventually(() => spool.waiting() === 0);
      const stored = await wire.coordinator.next(streams.pings.name, 1, subjects.allPings);
      expect(pingMessage.parse(jsonOf(stored?.data ?? new Uint8Array())).at).toBe(inRecord);
    });

    test('keeps what the bus does not take, in order with what comes after, and hands it over by itself', async () => {
      const wire = await bus();
      const spool = await openPingSpool(join(await folder(), 'beats.jsonl'), silentLog);
      const { take } = await intake(spool, wire, known);
      await wire.coordinator.deleteStream(streams.pings.name);
      expect((await take(call(`/beat/${token}/start`))).status).toBe(200);
      expect((await take(call(`/beat/${token}`))).status).toBe(200);
      expect(spool.waiting()).toBe(2);
      await wire.coordinator.ensureStream(streams.pings);
      await eventually(() => spool.waiting() === 0);
      expect((await wire.coordinator.streamState(streams.pings.name))?.messages).toBe(2);
    });

    test('does not know a token whose time is over, and hashes nothing that cannot be one', async () => {
      const wire = await bus();
      const { take } = await intake(
        await openPingSpool(join(await folder(), 'beats.jsonl'), silentLog),
        wire,
        known,
        Date.now() - 1,
      );
      expect((await take(call(`/beat/${token}`))).status).toBe(404);
      for (const address of [
        '/beat/',
        '/beat/short',
        `/beat/${'x'.repeat(65)}`,
        `/beat/${token}/`,
        `/beat/${token}/-1`,
        `/beat/${token}/300`,
        '/beat/..%2f..',
        '/',
      ])
        expect((await take(call(address))).status, address).toBe(404);
      expect(await take(call(`/beat/${token}`, 'DELETE'))).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD, POST' },
      });
    });
  });
});
