import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { assignmentOf } from '../probe/support/checkers.ts';
import { rosterProbe } from '../probe/support/surroundings.ts';
import { mint, mintAuthority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import type { Bench } from './figure.ts';
import { startLoneProbe } from './https/lone-probe.ts';
import { cores, memoryOf, start, stop } from './processes.ts';

/**
 * Memory of 5,000 https checks in flight in the whole probe, by its own schedule, against as many
 * connections of node alone; and of a probe at rest against a node that does nothing.
 */

const wanted = 5_000;
const interval_ms = 30_000;
const answersAfterMs = 25_000;
const monitors = (wanted * interval_ms) / answersAfterMs;

const portOf = z.object({ port: z.int() });
const held = z.object({ before: z.number(), during: z.number(), open: z.number() });

const lineOf = async (child: ReturnType<typeof start>): Promise<unknown> => {
  if (!child.stdout) throw new Error('a part of the bench did not start');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return JSON.parse(String(line));
};

/** A node that does nothing, in MiB. */
const nothing = async (): Promise<number> => {
  const child = start(
    cores.subject,
    [process.execPath, '-e', 'process.stdin.resume(); console.log(1)'],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  await lineOf(child);
  const memory = child.pid === undefined ? Number.NaN : memoryOf(child.pid);
  await stop(child);
  return memory;
};

export const inFlight: Bench = {
  name: 'in-flight',
  about: `memory of ${wanted} https checks in flight in the whole probe, and of a probe at rest`,
  run: async (say) => {
    const folder = await mkdtemp(join(tmpdir(), 'antipode-bench-in-flight-'));
    const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
    try {
      const root = mintAuthority('Bench Root');
      const leaf = mint({ names: ['localhost', '127.0.0.1'], issuer: root, key: 'ec' });
      const authority = join(folder, 'ca.pem');
      await writeFile(join(folder, 'leaf.pem'), leaf.chain);
      await writeFile(join(folder, 'leaf.key'), leaf.key);
      await writeFile(authority, root.certificate);
      const target = start(
        cores.load,
        [
          process.execPath,
          join(import.meta.dirname, 'in-flight/slow-target.ts'),
          folder,
          String(answersAfterMs),
        ],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      ends.push(() => stop(target));
      const { port } = portOf.parse(await lineOf(target));

      say('node alone');
      const bare = await nothing();
      const naked = start(
        cores.subject,
        [
          process.execPath,
          join(import.meta.dirname, 'in-flight/plain-node.ts'),
          authority,
          String(port),
          String(wanted),
        ],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      ends.push(() => stop(naked));
      const limit = held.parse(await lineOf(naked));
      const limitEach = (limit.during - limit.before) / 1_024 / limit.open;

      // A lane has a quarter of the room, and all these targets are slow.
      const probe = await startLoneProbe(folder, authority, {
        PROBE_CONCURRENCY: '20000',
      });
      ends.push(probe.close);
      const { coordinator, wire, pid } = probe;

      say(`${monitors} monitors`);
      await coordinator.publishRoster(rosterProbe(wire, { healthy: false }));
      const url = `https://localhost:${port}/`;
      const assignments = Array.from({ length: monitors }, (_, ordinal) =>
        assignmentOf(url, { ordinal, interval_ms, timeout_ms: interval_ms - 500 }),
      );
      for (let from = 0; from < monitors; from += 500)
        await Promise.all(assignments.slice(from, from + 500).map(coordinator.assign));
      await eventually(() => coordinator.presences.at(-1)?.assignments.count === monitors, 60_000);
      const before = memoryOf(pid);

      say('until they are in flight');
      await coordinator.publishRoster(rosterProbe(wire));
      const flying = (): number => coordinator.presences.at(-1)?.load.in_flight ?? 0;
      let most = { flying: 0, memory: before };
      await eventually(
        () => {
          if (flying() > most.flying) most = { flying: flying(), memory: memoryOf(pid) };
          return most.flying >= wanted * 0.97;
        },
        120_000,
        250,
      );
      const each = ((most.memory - before) * 1_024) / most.flying;
      return [
        {
          what: `${most.flying} checks in flight in the whole probe, memory each`,
          ours: `${each.toFixed(1)} KiB (${most.memory.toFixed(0)} MiB in all)`,
          against: `connections of node alone ${limitEach.toFixed(1)} KiB`,
          ratio: each / limitEach,
          goal: '≤ 62 KiB',
          holds: each <= 62,
        },
        {
          what: `the probe with ${monitors} monitors that are not its turn`,
          ours: `${before.toFixed(0)} MiB`,
          against: `without any ${probe.atRest.toFixed(0)} MiB`,
          ratio: before / probe.atRest,
          goal: '–',
          holds: null,
        },
        {
          what: 'the probe at rest',
          ours: `${probe.atRest.toFixed(0)} MiB`,
          against: `node alone ${bare.toFixed(0)} MiB`,
          ratio: probe.atRest / bare,
          goal: '≤ 80 MiB',
          holds: probe.atRest <= 80,
        },
      ];
    } finally {
      for (const end of ends.toReversed()) await end();
    }
  },
};
