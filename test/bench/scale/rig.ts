import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Continent } from '../../../shared/base/continents.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { presenceMessage } from '../../../shared/bus/messages.ts';
import { connectBus } from '../../../shared/bus/nats.ts';
import { streams, subjects } from '../../../shared/bus/subjects.ts';
import { mint, mintAuthority } from '../../support/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import { createNetwork, type MadeProbe, type Network } from '../../support/network.ts';
import { startServices } from '../../support/services-run.ts';
import { type Measured, startMeasured } from '../ingest/coordinator.ts';
import { cores, cpuOf, memoryOf, start, stop } from '../processes.ts';

/**
 * Everything that runs for a check, as processes: coordinator, probes, bus and database; with
 * targets on loopback.
 */
export type Rig = {
  readonly sql: Network['sql'];
  /** Holds the authority of the https target as ca.pem. */
  readonly folder: string;
  readonly ports: { readonly https: number };
  readonly targets: Readonly<Record<Group['target'], string>>;
  /** From now on the breakable target fails. */
  readonly breakTarget: () => void;
  readonly mendTarget: () => void;
  /** CPU that each part has used so far, in milliseconds. */
  readonly cpu: () => Promise<ByPart>;
  /** In MiB. */
  readonly memory: () => Promise<ByPart>;
  /** In the stream of assignments. */
  readonly messages: () => Promise<number>;
  readonly network: Network;
  readonly coordinator: Measured;
  /** Another one beside it. */
  readonly startAnother: (more?: Readonly<Record<string, string>>) => Promise<Measured>;
  /** From the start of the coordinator, in milliseconds. */
  readonly took: {
    /** Until it had loaded all partitions. */
    readonly loaded: number;
    /** From the start of the probes until they had all assignments. */
    readonly assigned: number;
  };
  readonly close: () => Promise<void>;
};

export type ByPart = {
  readonly coordinator: number;
  readonly probes: number;
  readonly bus: number;
  readonly database: number;
};

/**
 * Monitors by the hundred thousand, as the database would hold them; they become assignments when
 * the coordinator starts.
 */
export type Group = {
  readonly count: number;
  readonly interval_s: number;
  readonly target: 'well' | 'breakable' | 'https' | 'oneSided';
  /** Of an organisation of their own. */
  readonly own?: true;
};

const portsOf = z.object({
  well: z.int(),
  breakable: z.int(),
  https: z.int(),
  oneSided: z.int(),
});

/**
 * User and system time of a process with those of its children that are gone, in milliseconds;
 * nothing for one that is gone itself.
 */
const statOf = async (
  pid: string,
): Promise<{ name: string; parent: number; cpu: number } | undefined> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  const end = stat.lastIndexOf(')');
  const fields = stat.slice(end + 2).split(' ');
  const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
  return {
    name: stat.slice(stat.indexOf('(') + 1, end),
    parent: Number(fields[1]),
    cpu: ticks * 10,
  };
};

/** The memory of a process in MiB, of what it shares with others its part. */
const shareOf = async (pid: number): Promise<number> => {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1_024;
};

/**
 * What the bus and the database of this run have used, and the memory that they hold: our own
 * children, and the children of the database.
 */
const servicesUse = async () => {
  const all = new Map<number, { name: string; parent: number; cpu: number }>();
  for (const pid of await readdir('/proc')) {
    const stat = /^\d+$/.test(pid) ? await statOf(pid) : undefined;
    if (stat) all.set(Number(pid), stat);
  }
  const isOurs = (parent: number): boolean =>
    parent === process.pid || all.get(parent)?.parent === process.pid;
  const named = (name: string) =>
    [...all].filter(([, one]) => one.name === name && isOurs(one.parent));
  const cpuOfAll = (name: string): number => named(name).reduce((sum, [, { cpu }]) => sum + cpu, 0);
  const memoryOfAll = async (name: string): Promise<number> => {
    const shares = await Promise.all(named(name).map(([pid]) => shareOf(pid)));
    return shares.reduce((sum, share) => sum + share, 0);
  };
  return {
    cpu: { bus: cpuOfAll('nats-server'), database: cpuOfAll('postgres') },
    memory: {
      bus: await memoryOfAll('nats-server'),
      database: await memoryOfAll('postgres'),
    },
  };
};

/** So many at once: each statement has a deadline. */
const portion = 50_000;
/** What a large organisation has; further monitors belong to others. */
const monitorsOfOne = 10_000;

const seed = async (
  network: Network,
  groups: readonly Group[],
  targets: Rig['targets'],
): Promise<void> => {
  const most = Math.max(...groups.map(({ count }) => count));
  const organisations = [
    network.organisation,
    ...Array.from({ length: Math.ceil(most / monitorsOfOne) - 1 }, newId),
  ];
  const apart = newId();
  await network.sql`
    insert into organisations (id, name, plan, time_zone)
    select id, id, 'self_hosted', 'UTC' from unnest(${[...organisations.slice(1), apart]}::uuid[]) as id`;
  for (const { count, interval_s, target, own } of groups)
    for (let from = 1; from <= count; from += portion)
      await network.sql`
      insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
      select id, (${own ? [apart] : organisations}::uuid[])[1 + (n - 1) / ${monitorsOfOne}], ('x' || right(id::text, 4))::bit(16)::int % 32, ${target} || ' ' || n, 'https', ${targets[target]}::text || n, ${interval_s}
      from (select n, gen_random_uuid() as id from generate_series(${from}::int, ${Math.min(count, from + portion - 1)}::int) n) made`;
};

const mainOfProbe = join(import.meta.dirname, '../../../probe/main.ts');

/** Settles when every probe has all assignments. */
export const startRig = async (
  groups: readonly Group[],
  continents: readonly Continent[],
  say: (progress: string) => void,
  patienceMs = 240_000,
  more: Readonly<Record<string, string>> = {},
  coreOfProbes: number | null = cores.subject,
): Promise<Rig> => {
  const folder = await mkdtemp(join(tmpdir(), 'antipode-bench-scale-'));
  const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    say('database and bus');
    const { services, stop: endServices } = await startServices();
    ends.push(endServices);
    const network = await createNetwork({ services });
    ends.push(network.close);
    const root = mintAuthority('Bench Root');
    const leaf = mint({ names: ['localhost', '127.0.0.1'], issuer: root, key: 'ec' });
    await writeFile(join(folder, 'leaf.pem'), leaf.chain);
    await writeFile(join(folder, 'leaf.key'), leaf.key);
    await writeFile(join(folder, 'ca.pem'), root.certificate);
    const target = start(
      cores.load,
      [process.execPath, join(import.meta.dirname, 'target.ts'), folder],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    ends.push(() => stop(target));
    if (!target.stdout) throw new Error('the targets did not start');
    const [line] = await once(createInterface({ input: target.stdout }), 'line');
    const ports = portsOf.parse(JSON.parse(String(line)));
    const targets = {
      well: `http://127.0.0.1:${ports.well}/`,
      breakable: `http://127.0.0.1:${ports.breakable}/`,
      https: `https://127.0.0.1:${ports.https}/`,
      oneSided: `http://127.0.0.1:${ports.oneSided}/`,
    };
    await seed(network, groups, targets);
    // As it would be after a minute. Never those that are empty: the database would plan for them as such.
    await network.sql`analyze organisations, monitors, monitor_status, ledger`;
    const wanted = groups.reduce((sum, { count }) => sum + count, 0);

    say(`a coordinator with ${wanted} monitors`);
    const made: MadeProbe[] = [];
    for (const continent of continents) made.push(await network.makeProbe(continent));
    const compiled = { NODE_COMPILE_CACHE: join(folder, 'compiled') };
    const startAnother: Rig['startAnother'] = async (besides = {}) => {
      const one = await startMeasured({ ...network.environment, ...compiled, ...besides });
      ends.push(one.stop);
      return one;
    };
    const coordinator = await startAnother(more);
    const loaded = await coordinator.atWork;
    const startedAt = performance.now();
    const probes = made.map((one) => {
      const child = start(coreOfProbes ?? undefined, [process.execPath, mainOfProbe], {
        env: {
          ...compiled,
          PATH: process.env.PATH,
          PROBE_CREDENTIALS: one.credentials,
          PROBE_DATA_DIR: one.folder,
          PROBE_ALLOW_CIDRS: '127.0.0.0/8',
          NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
          LOG_LEVEL: 'error',
        },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      ends.push(() => stop(child));
      if (child.pid === undefined) throw new Error('a probe did not start');
      return child.pid;
    });
    const held = new Map<string, number>();
    const bus = await connectBus({
      url: network.account.url,
      credentials: network.account.coordinatorCredentials,
      name: 'bench',
      log: network.log,
    });
    ends.push(bus.close);
    bus.subscribe(subjects.allPresence, (message) => {
      const { probe, assignments } = presenceMessage.parse(
        JSON.parse(Buffer.from(message.data).toString()),
      );
      held.set(probe, assignments.count);
    });
    say('until the probes have their assignments');
    await eventually(() => made.every(({ id }) => held.get(id) === wanted), patienceMs, 50);
    const assigned = performance.now() - startedAt;
    const memory = (pids: readonly number[]): number =>
      pids.reduce((sum, pid) => sum + memoryOf(pid), 0);
    return {
      sql: network.sql,
      folder,
      ports,
      targets,
      breakTarget: () => void target.stdin?.write('fail\n'),
      mendTarget: () => void target.stdin?.write('answer\n'),
      cpu: async () => ({
        coordinator: cpuOf(coordinator.pid),
        probes: probes.reduce((sum, pid) => sum + cpuOf(pid), 0),
        ...(await servicesUse()).cpu,
      }),
      network,
      coordinator,
      startAnother,
      took: { loaded, assigned },
      memory: async () => ({
        coordinator: memory([coordinator.pid]),
        probes: memory(probes),
        ...(await servicesUse()).memory,
      }),
      messages: async () =>
        (await bus.streamState(streams.assignments.name))?.messages ?? Number.NaN,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};
