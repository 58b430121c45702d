import { expect, test } from 'vitest';
import { createStreamGrowth } from '../../../coordinator/probes/bus-keeper.ts';
import { createManagement } from '../../../shared/bus/jetstream.ts';
import { streams } from '../../../shared/bus/subjects.ts';

/** Streams that wanted three replicas of servers that were not together yet. */

const second = 1_000;

/** Servers that keep all streams with one replica until `areTogether`, and what they were asked for. */
const servers = () => {
  const replicas = new Map<string, number>();
  const state = { areTogether: false, updates: 0 };
  const data = (answer: object) => ({ data: new TextEncoder().encode(JSON.stringify(answer)), headers: undefined });
  const request: Parameters<typeof createManagement>[0] = async (subject, body) => {
    const [, , , action, name = ''] = subject.split('.');
    const asked = typeof body === 'string' && body !== '' ? JSON.parse(body) : {};
    if (action === 'UPDATE') {
      state.updates += 1;
      if (asked.num_replicas > 1 && !state.areTogether)
        return data({ error: { code: 400, err_code: 10_074, description: 'replicas > 1 not supported' } });
      replicas.set(name, asked.num_replicas);
      return data({});
    }
    return data({ config: { num_replicas: replicas.get(name) ?? 1 }, cluster: { leader: 'one' } });
  };
  return { state, request, replicas };
};

test('what was refused is asked for again at doubling distances, until it is given', async () => {
  const { state, request, replicas } = servers();
  const refusals: string[] = [];
  const management = createManagement(request, { keeping: { replicas: 3 }, onRefused: (stream) => void refusals.push(stream) });
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
