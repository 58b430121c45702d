import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { printProbeCredentials } from '../../../shared/bus/credentials.ts';
import { createBusOfProbe } from '../../probe/support/bus-of-probe.ts';
import { assignmentOf, rosterProbe, startSmallCoordinator } from '../../probe/support/small-coordinator.ts';
import { eventually } from '../../support/eventually.ts';
import { startServices } from '../../support/services-run.ts';
import { cores, cpuOf, memoryOf, start, stop } from '../processes.ts';

/** The probe as the process that operators run, on a real bus, with monitors that it checks by its own schedule. */
export type WholeProbe = {
  /** CPU of one check in milliseconds, everything that the probe does counted, while it checks the monitors of one target. */
  readonly cpuPerCheck: (target: string, ms: number) => Promise<number>;
  /** Memory in MiB, with nothing to check. */
  readonly atRest: number;
  readonly close: () => Promise<void>;
};

const main = join(import.meta.dirname, '../../../probe/main.ts');

/** Patience enough for a busy machine: what is measured is CPU, not how long it takes. */
const interval_ms = 4_000;
const mostTries = 3;

/** As many monitors for each target as make so many checks a second. */
export const startWholeProbe = async (
  folder: string,
  authority: string,
  targets: readonly string[],
  perSecond: number,
): Promise<WholeProbe> => {
  const monitors = (perSecond * interval_ms) / 1_000;
  const { services, stop: endServices } = await startServices(async () => undefined);
  const wire = await createBusOfProbe({ services });
  const coordinator = startSmallCoordinator(wire);
  const data = join(folder, 'probe');
  await mkdir(data, { recursive: true });
  const credentials = join(folder, 'credentials');
  const { id, name, continent, organisation } = wire.probe;
  await writeFile(
    credentials,
    printProbeCredentials({ probe: id, name, continent, organisation, nats_url: 'nats://127.0.0.1:1', nats_credentials: wire.credentials }),
  );
  const child = start(cores.subject, [process.execPath, main], {
    env: {
      PATH: process.env.PATH,
      PROBE_CREDENTIALS_FILE: credentials,
      PROBE_DATA_DIR: data,
      PROBE_NATS_URL: wire.proxy.url,
      PROBE_ALLOW_CIDRS: '127.0.0.0/8',
      NODE_EXTRA_CA_CERTS: authority,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const close = async (): Promise<void> => {
    await stop(child);
    await coordinator.stop();
    await wire.close();
    await endServices();
  };
  try {
    const { pid } = child;
    if (pid === undefined) throw new Error('the probe did not start');
    await eventually(() => coordinator.presences.length > 0, 20_000);
    const atRest = memoryOf(pid);
    const rest = () => coordinator.publishRoster(rosterProbe(wire, { healthy: false }));
    await rest();
    const sets = new Map(
      targets.map((target) => [
        target,
        Array.from({ length: monitors }, (_, ordinal) => assignmentOf(target, { ordinal, interval_ms, timeout_ms: interval_ms - 100 })),
      ]),
    );
    /** Only the monitors of one target are there at a time. */
    const swap = async (target: string): Promise<void> => {
      for (const [other, set] of sets) {
        await Promise.all(set.map((one) => (other === target ? coordinator.assign(one) : coordinator.unassign(one.monitor))));
      }
      await eventually(() => coordinator.presences.at(-1)?.assignments.count === monitors, 20_000);
    };
    /** One window; undefined when so much failed in it that the machine, not the probe, was measured. */
    const measured = async (ms: number): Promise<number | undefined> => {
      const { accepted } = coordinator.taker;
      accepted.length = 0;
      await eventually(() => accepted.length >= monitors, 30_000);
      const [cpu, from] = [cpuOf(pid), Date.now()];
      await new Promise((resolve) => setTimeout(resolve, ms));
      const [after, to] = [cpuOf(pid), Date.now()];
      // Counted by when they started: those of the window are all here once the next ones are.
      await eventually(() => accepted.some(({ at }) => at > to + interval_ms), 30_000);
      const results = accepted.filter(({ at }) => at >= from && at < to);
      const good = results.filter(({ outcome }) => outcome === 'ok').length;
      return good < results.length * 0.99 ? undefined : (after - cpu) / results.length;
    };
    return {
      atRest,
      close,
      cpuPerCheck: async (target, ms) => {
        await swap(target);
        await coordinator.publishRoster(rosterProbe(wire));
        for (let tries = 0; tries < mostTries; tries += 1) {
          const found = await measured(ms);
          if (found === undefined) continue;
          await rest();
          return found;
        }
        throw new Error(`more than 1 % of the checks failed in each of ${mostTries} windows: the machine is too busy to measure on`);
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
};
