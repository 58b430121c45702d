import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bucketOfRow } from '../../../coordinator/assignments/envelopes.ts';
import { type Packed, packEnvelopes } from '../../../shared/bus/envelope.ts';
import { partitionOf, probeConsumers, streams, subjects } from '../../../shared/bus/subjects.ts';
import { assignedElement, assignedIn } from '../../../shared/checks/assignment.ts';
import { assignmentOf } from '../../probe/support/checkers.ts';
import { rosterProbe } from '../../probe/support/surroundings.ts';
import { portOf } from '../../support/connections.ts';
import { eventually } from '../../support/eventually.ts';
import { prepareLoneProbe } from '../https/lone-probe.ts';
import { stop } from '../processes.ts';

/**
 * How long a probe takes from its start until it has checked something and holds everything, in
 * milliseconds: with an empty disk, and again after a kill. On all cores, as its host runs it.
 */
export type ProbeStart = {
  readonly fresh: number;
  readonly again: number;
  /** In the stream, for this probe. */
  readonly messages: number;
};

/** So that a hundred are due each second, whatever their number. */
const intervalOf = (monitors: number): number => monitors * 10;

const envelopesOf = (monitors: number, target: string) => {
  type Filled = { readonly partition: number; readonly bucket: number; readonly packed: Packed[] };
  const buckets = new Map<string, Filled>();
  for (let ordinal = 1; ordinal <= monitors; ordinal += 1) {
    const assignment = assignmentOf(`${target}${ordinal}`, {
      ...{ ordinal, interval_ms: intervalOf(monitors), timeout_ms: 5_000 },
      config: { expected_status: ['2xx'] },
    });
    const { monitor } = assignment;
    const at = bucketOfRow({ partition: partitionOf(monitor), key: ordinal });
    const name = `${at.partition}.${at.bucket}`;
    const filled: Filled = buckets.get(name) ?? { ...at, packed: [] };
    buckets.set(name, filled);
    filled.packed.push({
      ordinal,
      text: JSON.stringify({ v: 1, ...assignment }),
      element: assignedElement(assignedIn(assignment)),
    });
  }
  return [...buckets.values()].flatMap(({ partition, bucket, packed }) =>
    packEnvelopes(bucket, packed).map((body, item) => ({ at: { partition, bucket, item }, body })),
  );
};

export const startsWith = async (monitors: number): Promise<ProbeStart> => {
  const folder = await mkdtemp(join(tmpdir(), 'antipode-bench-start-'));
  const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    let hits = 0;
    const target = createServer((_, response) => {
      hits += 1;
      response.end('well');
    });
    ends.push(async () => target.close());
    const port = await portOf(target);
    const compiled = { NODE_COMPILE_CACHE: join(folder, 'compiled') };
    const { wire, coordinator, command, env, close } = await prepareLoneProbe(folder, compiled);
    ends.push(close);
    const { coordinator: bus, probe } = wire;
    await coordinator.publishRoster(rosterProbe(wire));

    const run = async (): Promise<number> => {
      hits = 0;
      const before = coordinator.presences.length;
      const began = performance.now();
      const [program, ...words] = command;
      const child = spawn(program, words, { env, stdio: ['ignore', 'ignore', 'inherit'] });
      const end = () => stop(child);
      ends.push(end);
      await eventually(
        async () => {
          const { name } = probeConsumers.assignments(probe.id, '');
          const state = await bus.consumerState(streams.assignments.name, name);
          return hits > 0 && state?.pending === 0 && state.unacknowledged === 0;
        },
        60_000,
        5,
      );
      const took = performance.now() - began;
      const held = () => coordinator.presences.slice(before).at(-1)?.assignments.count;
      await eventually(() => held() === monitors, 60_000);
      await end();
      return took;
    };
    const all = envelopesOf(monitors, `http://127.0.0.1:${port}/`);
    for (const { at, body } of all) await bus.store(subjects.inBucket(probe.continent, at), body);
    const fresh = await run();
    return { fresh, again: await run(), messages: all.length };
  } finally {
    for (const end of ends.toReversed()) await end();
  }
};
