import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import { openPingSpool, type SpooledPing } from '../../../shared/bus/ping-spool.ts';
import {
  createPingIntake,
  type PingBus,
  type PingForwarding,
  type PingIntake,
  type PingIntakeDependencies,
} from '../../../shared/bus/pings.ts';
import { newPingToken } from '../../../shared/checks/heartbeat/config.ts';
import { silentLog } from '../../probe/support/surroundings.ts';
import { eventually } from '../../support/eventually.ts';

/** A ping intake between two ways that each do what the test says, on a real disk. */

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

type Way = { state: 'away' | 'failing' | 'stalling' | 'well'; readonly came: SpooledPing[]; tried: number };

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
  let most = 500;
  const way: PingForwarding = {
    isOpen: () => forwarding.state !== 'away',
    handOver: async (waiting, signal) => {
      forwarding.tried += 1;
      if (forwarding.state === 'stalling') await once(signal, 'abort');
      if (forwarding.state !== 'well') throw new Error('nobody is there');
      const some = waiting.slice(0, most);
      forwarding.came.push(...some);
      return { handed: new Set(some.map(({ ping }) => ping.id)), failures: [] };
    },
    close: () => undefined,
  };
  const file = join(folder, 'beats.jsonl');
  const open = async (withClock = clock): Promise<PingIntake & { readonly say: (body: string) => Promise<number> }> => {
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
    const say = async (body: string) => (await intake.take({ method: 'POST', address, body: async () => Buffer.from(body) })).status;
    return { ...intake, close, say };
  };
  return { bus, forwarding, open, file, takeAtMost: (count: number) => (most = count) };
};

describe('a ping intake with a forwarding', () => {
  test('lets a ping leave by it as soon as it is on the disk, while the bus is away, and forgets it then', async () => {
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

  test('takes it when the bus seems to be there and fails, and lets nobody wait for that bus again soon', async () => {
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
    for (const body of ['one', 'two', 'three', 'four', 'five']) expect(await before.say(body)).toBe(200);
    expect([bus.tried, forwarding.tried]).toEqual([0, 0]);
    await before.close();
    const after = await open();
    takeAtMost(2);
    forwarding.state = 'well';
    await after.catchUp();
    expect(bodies(forwarding)).toEqual(['one', 'two', 'three', 'four', 'five']);
    expect(forwarding.tried).toBe(3);
  });

  test('goes back to the bus in the midst of it', async () => {
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

  test('is not held up by it when the bus comes back', async () => {
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

  test('keeps what neither took, and tries the bus as ever when it is the only way', async () => {
    const { bus, forwarding, open } = await setUp();
    [bus.state, forwarding.state] = ['failing', 'failing'];
    const { say, catchUp } = await open();
    expect(await say('one')).toBe(200);
    await eventually(() => forwarding.tried > 0);
    forwarding.state = 'away';
    bus.state = 'well';
    // One may be under way that began before; the next finds the bus, which was in doubt a moment ago.
    await catchUp();
    await catchUp();
    expect(bodies(bus)).toEqual(['one']);
  });

  test('sends nothing that way before it was told the time, and dates anew then what it took before, also after a crash', async () => {
    const dayAhead = Date.now() + 86_400_000;
    const { forwarding, open } = await setUp();
    const before = await open({ now: () => dayAhead, isMeasured: () => false });
    expect(await before.say('early')).toBe(200);
    await before.catchUp();
    expect(forwarding.tried).toBe(0);
    await before.close();
    let isMeasured = false;
    const after = await open({ now: () => dayAhead, isMeasured: () => isMeasured, offset: () => -86_400_000 });
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
