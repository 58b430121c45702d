/**
 * What hostile targets do to the probes and to everybody else's monitors: real probes as processes,
 * beside healthy targets, for a time.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { eventually, passed } from '../../support/eventually.ts';
import { createNetwork } from '../../support/network.ts';
import { type ChildProgram, startChildProgram } from '../../support/processes.ts';
import type { Services } from '../../support/services-run.ts';
import { storedChecks } from '../../support/stored-checks.ts';
import { pingProgram } from './ping-program.ts';
import { readHostileRegistry } from './registries.ts';
import type { Place } from './world.ts';

export type HostileReport = {
  readonly monitors: Readonly<Record<Place['is'], number>>;
  /** Probes that ended, with what they last said. */
  readonly exits: readonly string[];
  /** The most memory that any probe ever held, in MiB. */
  readonly most_mib: number;
  /** Results by kind of place and outcome. */
  readonly results: Readonly<Record<string, number>>;
  /** Of healthy targets: incidents that were opened, and those of them that were confirmed. */
  readonly opened: number;
  readonly confirmed: number;
};

const places = ['Europe', 'Asia', 'North America'] as const;
const root = join(import.meta.dirname, '../../..');

const worldShape = z.object({
  resolver: z.int(),
  places: z.array(
    z.object({
      is: z.enum(['well', 'compressed', 'malformed', 'crumbs', 'ports', 'pings', 'registries']),
      type: z.enum(['https', 'dns', 'tcp', 'tls', 'websocket', 'grpc', 'icmp', 'domain']),
      target: z.string(),
      config: z.record(z.string(), z.string()),
    }),
  ),
});

/** Whether a process here can be given a resolver of its own, by a file that only it sees. */
export const canGiveResolver = (): boolean => {
  const can =
    process.platform === 'linux' && spawnSync('unshare', ['--mount', 'true']).status === 0;
  if (!can)
    process.stderr.write(
      'SKIPPED: a probe with a resolver of its own needs the right to make mount namespaces (root, on Linux)\n',
    );
  return can;
};

/** Where this machine has ping; undefined where it has none, and then nothing is pinged. */
export const pingHere = (): string | undefined => {
  const path = spawnSync('sh', ['-c', 'command -v ping'], { encoding: 'utf8' }).stdout.trim();
  if (path === '') process.stderr.write('SKIPPED: this machine has no ping\n');
  return path === '' ? undefined : path;
};

/** The most memory that a process ever held. */
const peakOf = (pid: number): number => {
  const line = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? Number.NaN) / 1_024;
};

export const runHostile = async (options: {
  readonly seconds: number;
  readonly services?: Services;
  readonly say: (line: string) => void;
}): Promise<HostileReport> => {
  const { seconds, services, say } = options;
  const folder = await mkdtemp(join(tmpdir(), 'antipode-hostile-'));
  const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const start = async (...given: Parameters<typeof startChildProgram>): Promise<ChildProgram> => {
    const child = await startChildProgram(...given);
    ends.push(async () => {
      child.signal('SIGKILL');
      await child.exited;
    });
    return child;
  };
  try {
    const network = await createNetwork(services ? { services } : {});
    ends.push(network.close);
    const outside = await start(
      [process.execPath, join(import.meta.dirname, 'world.ts')],
      {},
      (output) => output.endsWith('\n'),
    );
    const world = worldShape.parse(JSON.parse(outside.output()));
    const ping = pingHere();
    const known = world.places.filter(({ type }) => ping !== undefined || type !== 'icmp');
    const resolvers = join(folder, 'resolv.conf');
    await writeFile(resolvers, `nameserver 127.0.0.1:${world.resolver}\n`);

    const mounts = [`mount --bind ${resolvers} /etc/resolv.conf`];
    if (ping !== undefined) {
      const [real, hostile] = [join(folder, 'real-ping'), join(folder, 'ping')];
      await copyFile(ping, real);
      await writeFile(hostile, pingProgram(real), { mode: 0o755 });
      mounts.push(`mount --bind ${hostile} ${ping}`);
    }

    await network.startCoordinator({ readRegistry: readHostileRegistry });
    const exits: string[] = [];
    let isOver = false;
    const probes: ChildProgram[] = [];
    for (const continent of places) {
      const made = await network.makeProbe(continent);
      const command = [...mounts, `exec ${process.execPath} ${join(root, 'probe/main.ts')}`].join(
        ' && ',
      );
      const environment = {
        PROBE_CREDENTIALS: made.credentials,
        PROBE_DATA_DIR: made.folder,
        PROBE_ALLOW_CIDRS: '127.0.0.0/8',
        LOG_LEVEL: 'info',
      };
      const probe = await start(
        ['unshare', '--mount', 'sh', '-c', command],
        environment,
        (output) => output.includes('"msg":"the probe has started"'),
      );
      void probe.exited.then((code) => {
        if (!isOver) exits.push(`${continent}: ${code}\n${probe.output().slice(-2_000)}`);
      });
      probes.push(probe);
    }

    const isOf = new Map<string, Place['is']>();
    const config = (own: Place['config']) => ({ timeout_ms: 2_500, ...own });
    for (const place of known) {
      const id = await network.addMonitor({
        type: place.type,
        target: place.target,
        interval_s: 3,
        config: config(place.config),
      });
      isOf.set(id, place.is);
    }
    const seen = async () =>
      new Set((await storedChecks(network.sql)).map(({ probe_id, key }) => `${probe_id} ${key}`))
        .size;
    await eventually(
      async () => exits.length > 0 || (await seen()) === isOf.size * places.length,
      90_000,
      500,
    );
    say(`${isOf.size} monitors are checked by ${probes.length} probes; watching for ${seconds} s`);

    const peaks = (): number[] => (exits.length === 0 ? probes.map(({ pid }) => peakOf(pid)) : []);
    for (let left = seconds; left > 0 && exits.length === 0; left -= 30) {
      await passed(Math.min(left, 30) * 1_000);
      say(
        `${Math.max(0, left - 30)} s left; most memory so far ${peaks()
          .map((mib) => mib.toFixed(0))
          .join(', ')} MiB`,
      );
    }

    const results: Record<string, number> = {};
    for (const { monitor, outcome } of await storedChecks(network.sql)) {
      const key = `${isOf.get(monitor)} ${outcome}`;
      results[key] = (results[key] ?? 0) + 1;
    }
    const well = [...isOf].filter(([, is]) => is === 'well').map(([id]) => id);
    const incidents = await network.sql<{ confirmed_at: number | null }[]>`
      select confirmed_at from incidents where monitor_id = any(${well}::uuid[])`;
    const count = (is: Place['is']): number => known.filter((place) => place.is === is).length;
    isOver = true;
    return {
      monitors: {
        well: count('well'),
        compressed: count('compressed'),
        malformed: count('malformed'),
        crumbs: count('crumbs'),
        ports: count('ports'),
        pings: count('pings'),
        registries: count('registries'),
      },
      exits,
      most_mib: Math.max(0, ...peaks()),
      results,
      opened: incidents.length,
      confirmed: incidents.filter(({ confirmed_at }) => confirmed_at !== null).length,
    };
  } finally {
    for (const end of ends.toReversed()) await end();
  }
};

/** Whether nothing happened to anybody else. */
export const isUnharmed = ({ exits, most_mib, confirmed, results }: HostileReport): boolean =>
  exits.length === 0 && most_mib <= 200 && confirmed === 0 && (results['well ok'] ?? 0) > 0;
