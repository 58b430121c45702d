import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bundleDownload } from '../../coordinator/api/bundles.ts';
import { version } from '../../shared/base/process.ts';
import { printProbeCredentials } from '../../shared/bus/identity.ts';
import { portOf } from '../support/connections.ts';
import { eventually } from '../support/eventually.ts';
import {
  type ChildProgram,
  compiled,
  runProgram,
  startChildProgram,
} from '../support/processes.ts';
import { assignmentOf } from './support/checkers.ts';
import { misdated } from './support/observations.ts';
import {
  type BusOfProbe,
  createBusOfProbe,
  rosterProbe,
  type SmallCoordinator,
  signingKeys,
  startSmallCoordinator,
} from './support/surroundings.ts';

/** The probe as the process that an operator runs. */
describe('the probe process', () => {
  const main = join(import.meta.dirname, '../../probe/main.ts');
  const waitFor = { timeout: 40_000, interval: 50 };
  let folder: string;
  let wire: BusOfProbe;
  let coordinator: SmallCoordinator;
  let server: Server;
  let visits: number[];
  let target: string;
  let child: ChildProcess | undefined;

  const credentialsAt = ({ probe, credentials }: BusOfProbe): string =>
    printProbeCredentials({
      probe: probe.id,
      name: probe.name,
      continent: probe.continent,
      organisation: null,
      nats_url: 'nats://127.0.0.1:1',
      nats_credentials: credentials,
      signing_keys: [...signingKeys],
    });

  const start = async (
    stderr: 'inherit' | 'pipe' = 'inherit',
    ...flags: readonly string[]
  ): Promise<ChildProcess> => {
    const word = credentialsAt(wire);
    const file = join(folder, 'credentials');
    await writeFile(file, `${word}\n`);
    const env = {
      ...compiled,
      PROBE_CREDENTIALS_FILE: file,
      PROBE_DATA_DIR: join(folder, 'data'),
      PROBE_NATS_URL: wire.proxy.url,
      PROBE_ALLOW_CIDRS: '127.0.0.1',
      LOG_LEVEL: 'warn',
    };
    child = spawn(process.execPath, [...flags, main], {
      env,
      stdio: ['ignore', 'ignore', stderr],
    });
    return child;
  };

  const ended = async (of: ChildProcess): Promise<void> => {
    if (of.exitCode === null && of.signalCode === null) await once(of, 'exit');
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-main-'));
    wire = await createBusOfProbe();
    coordinator = startSmallCoordinator(wire);
    visits = [];
    server = createServer((_, response) => {
      visits.push(Date.now());
      response.end('hello');
    });
    target = `http://127.0.0.1:${await portOf(server)}/`;
  });
  afterEach(async () => {
    if (child) {
      child.kill('SIGKILL');
      await ended(child);
    }
    child = undefined;
    await coordinator.stop();
    await wire.close();
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('killed with -9 while the bus is away, hands over everything that it saw before', async () => {
    await coordinator.publishRoster(rosterProbe(wire));
    await coordinator.assign(assignmentOf(target));
    const first = await start();
    await expect.poll(() => coordinator.taker.accepted.length, waitFor).toBeGreaterThan(0);
    wire.proxy.cut();
    const cut = visits.length;
    await expect.poll(() => visits.length, waitFor).toBeGreaterThanOrEqual(cut + 4);
    first.kill('SIGKILL');
    await ended(first);
    // The very last may have been on its way; the others were on disk before the next began.
    const seen = visits.slice(0, -1);
    wire.proxy.heal();
    await start();
    const times = () => coordinator.taker.accepted.map(({ at }) => at);
    await expect.poll(() => times().length, waitFor).toBeGreaterThanOrEqual(seen.length);
    expect(misdated(seen, times())).toEqual([]);
    expect(new Set(times()).size).toBe(times().length);
  });

  test.for([
    ['SIGTERM', 0],
    ['SIGUSR1', 75],
  ] as const)(
    'asked to stop by %s, reports what it saw and ends with %i',
    async ([signal, code]) => {
      await coordinator.publishRoster(rosterProbe(wire));
      await coordinator.assign(assignmentOf(target));
      const running = await start();
      await expect.poll(() => visits.length, waitFor).toBeGreaterThan(1);
      running.kill(signal);
      await ended(running);
      expect(running.exitCode).toBe(code);
      await expect.poll(() => coordinator.taker.accepted.length, waitFor).toBe(visits.length);
    },
  );

  test('after an error that no part takes, reports what it saw, says the error and ends with 1', async () => {
    await coordinator.publishRoster(rosterProbe(wire));
    await coordinator.assign(assignmentOf(target));
    const throwing = "process.once('SIGUSR2', () => { throw new Error('nobody takes it') })";
    const running = await start('pipe', `--import=data:text/javascript,${throwing}`);
    let said = '';
    running.stderr?.on('data', (data: Buffer) => {
      said += data.toString();
    });
    await expect.poll(() => visits.length, waitFor).toBeGreaterThan(1);
    running.kill('SIGUSR2');
    await ended(running);
    expect(running.exitCode).toBe(1);
    expect(said).toContain('nobody takes it');
    await expect.poll(() => coordinator.taker.accepted.length, waitFor).toBe(visits.length);
  });

  test('once revoked says so and ends with 22', async () => {
    const running = await start('pipe');
    let said = '';
    running.stderr?.on('data', (data: Buffer) => {
      said += data.toString();
    });
    await expect.poll(() => coordinator.presences.length, waitFor).toBeGreaterThan(0);
    await wire.revoke();
    await ended(running);
    expect(running.exitCode).toBe(22);
    expect(said).toContain('antipode-probe: the credentials of this probe were revoked');
  });

  test('of several in one process one that is revoked ends alone, and the others go on until they are stopped', async ({
    onTestFinished,
  }) => {
    const other = await createBusOfProbe();
    onTestFinished(other.close);
    const its = startSmallCoordinator(other);
    onTestFinished(its.stop);
    const seats = [wire, other].map((at, nth) => ({
      PROBE_CREDENTIALS: credentialsAt(at),
      PROBE_DATA_DIR: join(folder, `data-${nth}`),
      PROBE_NATS_URL: at.proxy.url,
    }));
    const running = spawn(process.execPath, [main], {
      env: { ...compiled, PROBE_SEATS: JSON.stringify(seats), LOG_LEVEL: 'warn' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child = running;
    let said = '';
    running.stderr.on('data', (data: Buffer) => {
      said += data.toString();
    });
    await expect.poll(() => coordinator.presences.length, waitFor).toBeGreaterThan(0);
    await wire.revoke();
    await expect.poll(() => said, waitFor).toContain('the credentials of this probe were revoked');
    const heard = its.presences.length;
    await expect.poll(() => its.presences.length, waitFor).toBeGreaterThan(heard + 1);
    expect(running.exitCode).toBeNull();
    running.kill('SIGTERM');
    await ended(running);
    expect(running.exitCode).toBe(0);
  });

  test('refuses a folder that another process is using, or that is another probe’s, or that cannot be, in words', async () => {
    await start();
    await expect.poll(() => coordinator.presences.length, waitFor).toBeGreaterThan(0);
    const refusal = async (probe: string, data = join(folder, 'data')): Promise<string> => {
      const credentials = {
        probe,
        name: 'eu-1',
        continent: 'Europe',
        organisation: null,
        nats_url: 'nats://127.0.0.1:1',
      } as const;
      const env = {
        ...compiled,
        PROBE_CREDENTIALS: printProbeCredentials({
          ...credentials,
          nats_credentials: wire.credentials,
          signing_keys: [...signingKeys],
        }),
        PROBE_DATA_DIR: data,
      };
      const second = spawn(process.execPath, [main], {
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
        timeout: 30_000,
        killSignal: 'SIGKILL',
      });
      let said = '';
      second.stderr.on('data', (data: Buffer) => {
        said += data.toString();
      });
      await once(second, 'close');
      expect(second.exitCode).toBe(1);
      expect(said).not.toMatch(/^ +at /m);
      return said;
    };
    expect(await refusal(wire.probe.id)).toContain('another process of this probe uses');
    expect(await refusal('0198c0de-0000-7000-8000-000000000001')).toContain(
      'holds the data of another probe',
    );
    expect(await refusal(wire.probe.id, '/dev/null/data')).toContain(
      'PROBE_DATA_DIR: /dev/null/data cannot be written to (ENOTDIR',
    );
    if (existsSync('/proc/self'))
      expect(await refusal(wire.probe.id, '/proc/none/data')).toContain(
        '/proc/none/data cannot be written to (ENOENT',
      );
  });

  test('without its credentials says what is missing and ends with 1', async () => {
    const alone = spawn(process.execPath, [main], {
      env: { ...compiled, PROBE_ALLOW_CIDRS: 'here' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    alone.stderr.on('data', (data: Buffer) => {
      said += data.toString();
    });
    await once(alone, 'close');
    expect(alone.exitCode).toBe(1);
    for (const name of [
      'PROBE_CREDENTIALS: is not set',
      'PROBE_DATA_DIR: is not set',
      'PROBE_ALLOW_CIDRS: must be addresses',
    ]) {
      expect(said).toContain(name);
    }
  });
});

/** The probe as the one file that strangers get. */
describe('antipode-probe.mjs', () => {
  let folder: string;
  let file: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-program-'));
    file = join(folder, 'antipode-probe.mjs');
    await writeFile(file, await bundleDownload('antipode-probe.mjs'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const asNode = (other: string): string =>
    `--import=data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${other}'}})`;

  test('says what it is, and what it can be asked', async () => {
    expect(await runProgram([process.execPath, file, '--version'])).toEqual({
      code: 0,
      out: `${version}\n`,
      err: '',
    });
    expect((await runProgram([process.execPath, file])).out).toContain('antipode-probe.mjs run');
    const misused = await runProgram([process.execPath, file, 'fly']);
    expect(misused).toMatchObject({ code: 2, out: '' });
    expect(misused.err).toContain('Unknown command "fly".');
  });

  test('refuses an older Node in words, and takes 24', async () => {
    const old = await runProgram([process.execPath, asNode('22.11.0'), file, '--version']);
    expect(old).toMatchObject({ code: 1, out: '' });
    expect(old.err).toContain('antipode-probe needs Node 26');
    expect(old.err).toContain('this is Node 22.11.0');
    expect(await runProgram([process.execPath, asNode('24.0.0'), file, '--version'])).toMatchObject(
      { code: 0, err: '' },
    );
  });

  test('run without a word of who it is: refused in words', async () => {
    const refused = await runProgram(
      [process.execPath, file, 'run', '--data', join(folder, 'nothing')],
      {
        env: { PATH: process.env.PATH },
      },
    );
    expect(refused.code).toBe(2);
    expect(refused.err).toContain('run join first');
    expect(refused.err).toContain('PROBE_CREDENTIALS: is not set');
    expect(refused.err).not.toMatch(/^ +at /m);
  });

  test('is a probe: on the bus, present, and stopped as one', async () => {
    const wire = await createBusOfProbe();
    const coordinator = startSmallCoordinator(wire);
    const { id: probe, name, continent } = wire.probe;
    const word = {
      probe,
      name,
      continent,
      organisation: null,
      nats_url: wire.proxy.url,
      nats_credentials: wire.credentials,
      signing_keys: [...signingKeys],
    };
    let program: ChildProgram | undefined;
    try {
      const environment = {
        PROBE_CREDENTIALS: printProbeCredentials(word),
        PROBE_DATA_DIR: join(folder, 'data'),
      };
      program = await startChildProgram([process.execPath, file, 'run'], environment, (output) =>
        output.includes('"msg":"the probe has started"'),
      );
      const first = await eventually(() => coordinator.presences.at(0));
      expect(first).toMatchObject({ probe, version });
      expect(coordinator.unsigned()).toBe(0);
      program.signal('SIGTERM');
      expect(await program.exited).toBe(0);
    } finally {
      program?.signal('SIGKILL');
      await program?.exited;
      await coordinator.stop();
      await wire.close();
    }
  });
});
