import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleDownload } from '../../../coordinator/api/bundles.ts';
import { printProbeCredentials } from '../../../shared/bus/identity.ts';
import {
  type BusOfProbe,
  createBusOfProbe,
  type SmallCoordinator,
  signingKeys,
  startSmallCoordinator,
} from '../../probe/support/surroundings.ts';
import { eventually } from '../../support/eventually.ts';
import { startServices } from '../../support/services-run.ts';
import { cores, memoryOf, start, stop } from '../processes.ts';

/**
 * One probe as the released file that operators run, on a real bus, with a small coordinator beside
 * it; nothing is assigned yet.
 */
export type LoneProbe = {
  readonly pid: number;
  readonly wire: BusOfProbe;
  readonly coordinator: SmallCoordinator;
  /** Memory in MiB once a coordinator has heard it, with nothing to check. */
  readonly atRest: number;
  readonly close: () => Promise<void>;
};

export type ReadyProbe = Pick<LoneProbe, 'wire' | 'coordinator' | 'close'> & {
  /** Its program and environment; `start` of processes.ts or another way to run it. */
  readonly command: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
};

/** All that a lone probe needs, before it runs. */
export const prepareLoneProbe = async (
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<ReadyProbe> => {
  const { services, stop: endServices } = await startServices();
  const wire = await createBusOfProbe({ services });
  const coordinator = startSmallCoordinator(wire);
  const data = join(folder, 'probe');
  await mkdir(data, { recursive: true });
  const credentials = join(folder, 'credentials');
  const { id, name, continent, organisation } = wire.probe;
  await writeFile(
    credentials,
    printProbeCredentials({
      probe: id,
      name,
      continent,
      organisation,
      nats_url: 'nats://127.0.0.1:1',
      nats_credentials: wire.credentials,
      signing_keys: [...signingKeys],
    }),
  );
  const program = join(folder, 'antipode-probe.mjs');
  await writeFile(program, await bundleDownload('antipode-probe.mjs'));
  return {
    wire,
    coordinator,
    command: [process.execPath, program, 'run'],
    env: {
      PATH: process.env.PATH,
      PROBE_CREDENTIALS_FILE: credentials,
      PROBE_DATA_DIR: data,
      PROBE_NATS_URL: wire.proxy.url,
      PROBE_ALLOW_CIDRS: '127.0.0.0/8',
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      LOG_LEVEL: 'error',
      ...environment,
    },
    close: async () => {
      await coordinator.stop();
      await wire.close();
      await endServices();
    },
  };
};

export const startLoneProbe = async (
  folder: string,
  authority: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<LoneProbe> => {
  const ready = await prepareLoneProbe(folder, { NODE_EXTRA_CA_CERTS: authority, ...environment });
  const { wire, coordinator, command, env } = ready;
  const child = start(cores.subject, command, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const close = async (): Promise<void> => {
    await stop(child);
    await ready.close();
  };
  try {
    const { pid } = child;
    if (pid === undefined) throw new Error('the probe did not start');
    await eventually(() => coordinator.presences.length > 0, 20_000);
    return { pid, wire, coordinator, atRest: memoryOf(pid), close };
  } catch (error) {
    await close();
    throw error;
  }
};
