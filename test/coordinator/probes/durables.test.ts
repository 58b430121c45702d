import { describe, expect, test } from 'vitest';
import { type Consumer, createConsumers } from '../../../coordinator/probes/bus-keeper.ts';
import { BusRefusal } from '../../../shared/bus/jetstream.ts';
import { probeConsumers } from '../../../shared/bus/subjects.ts';

/** Durables of probes on a bus of three servers, of which one may be gone: what lies with it nobody answers for. */

const durables: readonly Consumer[] = ['a', 'b', 'c'].map((probe) => ({ stream: 'ASSIGN', consumer: probeConsumers.roster(probe) }));
const [name = ''] = durables.map(({ consumer }) => consumer.name);

/** `falls`: the servers that chance lays the next durables with, one after the other, the last one for ever. */
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
    streamState: async () => ({ messages: 0, bytes: 0, createdAt: 0, missing: state.gone < 0 ? 0 : 1 }),
  };
  return { bus, state, lies };
};

const log = { info: () => undefined, debug: () => undefined };

describe('durables of probes', () => {
  test('that lay with a server that is gone are made anew until they lie with one that is there; the others are left alone', async () => {
    const { bus, state, lies } = servers({ falls: [2, 0, 1, 2, 2, 0] });
    const kept = createConsumers({ bus, log });
    await kept.keep(durables);
    state.gone = 2;
    await kept.keep(durables);
    expect([...lies.values()].toSorted()).toEqual([0, 0, 1]);
    expect(new Set(state.deleted)).toEqual(new Set([name]));
    expect(state.deleted).toHaveLength(3);
  });

  test('that nobody answers for, while no server is gone, are left as they are: the bus is slow, and shall not be made busier', async () => {
    const { bus, state } = servers({ falls: [0], isSlow: true });
    await expect(createConsumers({ bus, log }).keep(durables)).rejects.toThrow('timeout');
    expect(state).toMatchObject({ created: 3, deleted: [] });
  });

  test('that are refused are left as they are, and hold up no other', async () => {
    const { bus, state, lies } = servers({ falls: [0] });
    state.gone = 1;
    const ensureConsumer: typeof bus.ensureConsumer = async (stream, consumer) => {
      if (consumer.name === name) throw new BusRefusal(10_026, 'maximum consumers limit reached');
      await bus.ensureConsumer(stream, consumer);
    };
    await expect(createConsumers({ bus: { ...bus, ensureConsumer }, log }).keep(durables)).rejects.toThrow('maximum consumers');
    expect([...lies.keys()]).toEqual(durables.slice(1).map(({ consumer }) => consumer.name));
    expect(state.deleted).toEqual([]);
  });

  test('are renewed and forgotten though their server is gone', async () => {
    const { bus, state, lies } = servers({ falls: [2, 2, 2, 0] });
    const kept = createConsumers({ bus, log });
    await kept.keep(durables);
    state.gone = 2;
    await kept.renew(durables.slice(0, 1));
    expect(lies.get(name)).toBe(0);
    await kept.forget(durables);
    expect(lies.size).toBe(0);
  });

  test('that fall to the server that is gone again and again are told of, and kept in a later turn', async () => {
    const { bus, state } = servers({ falls: [2] });
    const kept = createConsumers({ bus, log });
    await kept.keep(durables);
    state.gone = 2;
    await expect(kept.keep(durables.slice(0, 1))).rejects.toThrow('timeout');
    state.gone = -1;
    await kept.keep(durables);
  });
});

test('lost durables are looked for when a server has been away for a while, and not while it is only started anew', async () => {
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
