import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTombstones } from '../../../coordinator/probes/assignments.ts';
import { type Bus, connectBus } from '../../../shared/bus/nats.ts';
import { streams, subjects } from '../../../shared/bus/subjects.ts';
import { createAccount } from '../../support/services.ts';

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

const tombstonesOn = (onBus: Bus) => createTombstones({ bus: onBus, clock: { now: () => Date.now() + later }, log, keptMs: week });
const held = async (): Promise<string[]> =>
  [...(await bus.subjectsOf('ASSIGN', '>')), ...(await bus.subjectsOf('BEATKEYS', '>'))].toSorted();
const assignment = (monitor: string): string => subjects.assignment('Europe', monitor);

describe('a tombstone', () => {
  test('goes after a week, of assignments and of heartbeat keys alike; what is no tombstone stays', async () => {
    for (const monitor of ['deleted', 'kept', 'paused']) await bus.store(assignment(monitor), '{}');
    for (const key of ['ended', 'good']) await bus.store(subjects.pingKey('shop', key), '{}');
    await bus.store(subjects.roster, '{}');
    await bus.store(assignment('deleted'), '');
    await bus.store(subjects.pingKey('shop', 'ended'), '');
    const before = await held();
    const tombstones = tombstonesOn(bus);
    later = week - 60_000;
    await tombstones.tick();
    expect(await held()).toEqual(before);
    later = week + 60_000;
    await tombstones.tick();
    const left = ['assign.europe.kept', 'assign.europe.paused', 'beatkey.shop.good', 'roster'];
    expect(await held()).toEqual(left);
    // One that was old and live then is found when it has become a tombstone, and an old one.
    await bus.store(assignment('paused'), '');
    later = 0;
    await tombstones.tick();
    expect(await held()).toEqual(left);
    later = week + 60_000;
    await tombstones.tick();
    expect(await held()).toEqual(['assign.europe.kept', 'beatkey.shop.good', 'roster']);
  });

  test('goes in steps: a tick looks at five hundred messages of a stream, and the next goes on from there', async () => {
    const monitors = Array.from({ length: 1_100 }, (_, index) => `m${index}`);
    await Promise.all(monitors.map((monitor, index) => bus.store(assignment(monitor), index % 2 === 0 ? '' : '{}')));
    const tombstones = tombstonesOn(bus);
    const left: number[] = [];
    for (let tick = 0; tick < 3; tick += 1) {
      await tombstones.tick();
      left.push((await held()).length);
    }
    expect(left.at(-1)).toBe(550);
    expect(left[0]).toBeGreaterThanOrEqual(600);
    expect((await bus.last('ASSIGN', assignment('m1')))?.data.length).toBe(2);
  });

  test('of a monitor that is resumed while it is looked at takes nothing with it', async () => {
    await bus.store(assignment('resumed'), '');
    const resuming: Bus = {
      ...bus,
      next: async (...which) => {
        const found = await bus.next(...which);
        if (found?.subject === assignment('resumed') && found.data.length === 0) await bus.store(assignment('resumed'), '{"v":1}');
        return found;
      },
    };
    await tombstonesOn(resuming).tick();
    expect((await bus.last('ASSIGN', assignment('resumed')))?.data.length).toBe(7);
  });

  test('is found in a stream that was made anew, although its numbers are small again', async () => {
    const tombstones = tombstonesOn(bus);
    for (const monitor of ['one', 'two', 'three']) await bus.store(assignment(monitor), '{}');
    await tombstones.tick();
    await bus.deleteStream('ASSIGN');
    await bus.ensureStream(streams.assignments);
    await bus.store(assignment('one'), '');
    await tombstones.tick();
    expect(await held()).toEqual([]);
  });
});
