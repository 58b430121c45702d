import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundleDownload } from '../../coordinator/api/bundles.ts';
import { version } from '../../shared/base/process.ts';
import { printProbeCredentials } from '../../shared/bus/identity.ts';
import { eventually } from '../support/eventually.ts';
import { type ChildProgram, runProgram, startChildProgram } from '../support/processes.ts';
import { createBusOfProbe, startSmallCoordinator } from './support/surroundings.ts';

/** The probe as the one file that strangers get. */

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

describe('antipode-probe.mjs', () => {
  test('says what it is, and what it can be asked', async () => {
    expect(await runProgram([process.execPath, file, '--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
    expect((await runProgram([process.execPath, file])).out).toContain('antipode-probe.mjs run');
    const misused = await runProgram([process.execPath, file, 'fly']);
    expect(misused).toMatchObject({ code: 2, out: '' });
    expect(misused.err).toContain('There is no "fly".');
  });

  test('refuses an older Node in words, and takes 24', async () => {
    const old = await runProgram([process.execPath, asNode('22.11.0'), file, '--version']);
    expect(old).toMatchObject({ code: 1, out: '' });
    expect(old.err).toContain('antipode-probe needs Node 26');
    expect(old.err).toContain('this is Node 22.11.0');
    expect(await runProgram([process.execPath, asNode('24.0.0'), file, '--version'])).toMatchObject({ code: 0, err: '' });
  });

  test('run without a word of who it is: refused in words', async () => {
    const refused = await runProgram([process.execPath, file, 'run', '--data', join(folder, 'nothing')], {
      env: { PATH: process.env.PATH },
    });
    expect(refused.code).toBe(2);
    expect(refused.err).toContain('run join first');
    expect(refused.err).toContain('PROBE_CREDENTIALS: is not set');
    expect(refused.err).not.toMatch(/^ +at /m);
  });

  test('is a probe: on the bus, present, and stopped as one', async () => {
    const wire = await createBusOfProbe();
    const coordinator = startSmallCoordinator(wire);
    const { id: probe, name, continent } = wire.probe;
    const word = { probe, name, continent, organisation: null, nats_url: wire.proxy.url, nats_credentials: wire.credentials };
    let program: ChildProgram | undefined;
    try {
      const environment = { PROBE_CREDENTIALS: printProbeCredentials(word), PROBE_DATA_DIR: join(folder, 'data') };
      program = await startChildProgram([process.execPath, file, 'run'], environment, (output) => output.includes('"msg":"checking"'));
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
