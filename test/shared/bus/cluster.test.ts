import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createLog } from '../../../shared/base/log.ts';
import type { StreamKeeping } from '../../../shared/bus/jetstream.ts';
import { type Bus, connectBus } from '../../../shared/bus/nats.ts';
import { streams } from '../../../shared/bus/subjects.ts';
import { type OwnBus, startOwnBus } from '../../support/buses.ts';
import { eventually } from '../../support/eventually.ts';
import { hasBinaries } from '../../support/services.ts';

/** A bus of three servers, as an operator runs it whose one machine may fail. */

let own: OwnBus;
const opened: Bus[] = [];

const join = async (keeping: StreamKeeping = {}): Promise<Bus> => {
  const log = createLog({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });
  const bus = await connectBus({ url: own.nats.url, credentials: own.nats.identity.coordinatorCredentials, name: 'test', log, keeping });
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
  config: z.object({ num_replicas: z.number(), placement: z.object({ tags: z.array(z.string()) }).optional(), max_bytes: z.number() }),
  cluster: z.object({ leader: z.string().optional(), replicas: z.array(z.object({ name: z.string() })).optional() }),
});

const look = async (bus: Bus, name: string) =>
  infoShape.parse(JSON.parse(new TextDecoder().decode((await bus.request(`$JS.API.STREAM.INFO.${name}`, '', { timeoutMs: 5_000 })).data)));

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
    expect((await look(one, 'GROWS')).config).toMatchObject({ num_replicas: 3, max_bytes: 2 ** 20 });
  });

  test('a stream lies where the setting says, also one that grows at once, and stays there without it', async () => {
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

  test('a stream that cannot be kept by so many stays as it is, and is used', async () => {
    const stream = { ...streams.results, name: 'STAYS', subjects: ['stays'] };
    const bus = await join();
    await bus.ensureStream(stream);
    const many = await join({ replicas: 5 });
    await many.ensureStream(stream);
    expect(many.refusedStreams()).toEqual(['STAYS']);
    expect((await look(bus, 'STAYS')).config.num_replicas).toBe(1);
    expect((await bus.store('stays', 'x')).seq).toBe(1);
  });

  test('a stream says how many of its servers are away, or were never given', async () => {
    const bus = await join({ replicas: 3 });
    await bus.ensureStream({ ...streams.results, name: 'SHORT', subjects: ['short'] });
    const five = await join({ replicas: 5 });
    // While they choose a leader, nobody answers.
    const missing = async (of: Bus) => (await of.streamState('SHORT').catch(() => undefined))?.missing;
    expect(await eventually(async () => (await missing(bus)) === 0)).toBe(true);
    expect(await eventually(async () => (await missing(five)) === 2)).toBe(true);
    await own.nodes[2]?.kill();
    expect(await eventually(async () => (await missing(bus)) === 1)).toBe(true);
    expect(await eventually(async () => (await missing(five)) === 3)).toBe(true);
  });
});
