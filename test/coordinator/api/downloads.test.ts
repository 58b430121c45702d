import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  bundleDownload,
  bundling,
  downloadNames,
  downloadRooms,
} from '../../../coordinator/api/bundles.ts';
import { type Downloads, downloadRoutes } from '../../../coordinator/api/downloads.ts';
import { restServerOptions } from '../../../coordinator/api/routes.ts';
import { runProgram } from '../../support/processes.ts';

const root = resolve(import.meta.dirname, '../../..');
let cacheFolder: string;
let app: FastifyInstance;
let downloads: Downloads;
const failures: unknown[] = [];

beforeEach(async () => {
  cacheFolder = await mkdtemp(join(tmpdir(), 'antipode-cache-'));
  app = Fastify({ ...restServerOptions });
  downloads = downloadRoutes(app, { cacheFolder, onFailure: (error) => failures.push(error) });
});

afterEach(async () => {
  await app.close();
  await rm(cacheFolder, { recursive: true });
  expect(failures).toEqual([]);
});

test.each(downloadNames)(
  '%s is served as a file to keep, and not again to who has it',
  async (name) => {
    const first = await app.inject({ url: `/downloads/${name}` });
    expect(first.statusCode).toBe(200);
    expect(first.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'content-disposition': `attachment; filename="${name}"`,
    });
    expect(first.body.startsWith('#!/usr/bin/env node\n')).toBe(true);
    const again = await app.inject({
      url: `/downloads/${name}`,
      headers: { 'if-none-match': String(first.headers.etag) },
    });
    expect(again.statusCode).toBe(304);
    const weak = await app.inject({
      url: `/downloads/${name}`,
      headers: { 'if-none-match': `"x", W/${first.headers.etag}` },
    });
    expect(weak.statusCode).toBe(304);
    const head = await app.inject({ method: 'HEAD', url: `/downloads/${name}` });
    expect([head.statusCode, head.headers.etag, head.headers['content-length'], head.body]).toEqual(
      [200, first.headers.etag, first.headers['content-length'], ''],
    );
  },
);

test('all of them are made before anybody asks', async () => {
  await downloads.prepare();
  expect((await readdir(cacheFolder)).map((file) => file.slice(33)).toSorted()).toEqual(
    [...downloadNames].toSorted(),
  );
});

test('a second start finds the bundles by their content', async () => {
  const [first, second] = [
    await app.inject({ url: '/downloads/antipode.mjs' }),
    await app.inject({ url: '/downloads/antipode-mcp.mjs' }),
  ];
  const kept = (await readdir(cacheFolder)).toSorted();
  expect(kept).toHaveLength(2);
  const later = Fastify();
  downloadRoutes(later, { cacheFolder, onFailure: (error) => failures.push(error) });
  expect((await later.inject({ url: '/downloads/antipode.mjs' })).body).toBe(first.body);
  expect((await later.inject({ url: '/downloads/antipode-mcp.mjs' })).body).toBe(second.body);
  expect((await readdir(cacheFolder)).toSorted()).toEqual(kept);
  await later.close();
});

test.each(downloadNames)(
  'the rooms that decide the name of %s are all that it is made of',
  async (name) => {
    const { metafile } = await build({
      ...bundling(name),
      outfile: join(cacheFolder, name),
      write: false,
      metafile: true,
    });
    const inside = Object.keys(metafile?.inputs ?? {}).filter(
      (file) =>
        !file.startsWith('node_modules/') &&
        !/^no-(?:languages|native-parts):/.test(file) &&
        file !== 'package.json',
    );
    expect(inside.length).toBeGreaterThan(10);
    expect(
      inside.filter((file) => !downloadRooms(name).some((room) => file.startsWith(`${room}/`))),
    ).toEqual([]);
  },
);

test('the command line does not load the schemas', async () => {
  const { metafile } = await build({
    ...bundling('antipode.mjs'),
    outfile: join(cacheFolder, 'x.mjs'),
    write: false,
    metafile: true,
  });
  const packages = Object.keys(metafile?.inputs ?? {}).flatMap(
    (file) => /^node_modules\/([^/]+)\//.exec(file)?.[1] ?? [],
  );
  // What measures how wide a text is on a terminal, and what reads and writes a file.
  expect([...new Set(packages)].toSorted()).toEqual([
    'ansi-regex',
    'get-east-asian-width',
    'string-width',
    'strip-ansi',
    'yaml',
  ]);
});

test('the probe is one file under 900 kB, and the same one whenever it is made', async () => {
  const made = [];
  for (const name of ['first', 'second'])
    made.push(await bundleDownload('antipode-probe.mjs', join(cacheFolder, name)));
  const [first = '', second] = made;
  expect(Buffer.byteLength(first)).toBeLessThan(900_000);
  expect(Buffer.byteLength(first)).toBeGreaterThan(100_000);
  expect(second).toBe(first);
  // Nothing of the machine that made it.
  expect(first).not.toContain(root);
});

test('the command line is a small download', async () => {
  const { body } = await app.inject({ url: '/downloads/antipode.mjs' });
  // 50 kB before every config key was told of, 107 with how wide each character is, 151 with the
  // keys of five kinds, 195 with those of nine and with operations for all acts of pages, 344 with what
  // reads and writes YAML, 362 with what reads Kubernetes, 424 with the imports of six services, which
  // are run only by their command, 438 with what reads regular expressions, 448 with all that these
  // services say and checks can do, 450 with what monitors depend on, 453 with causes,
  // 458 with reports, 461 with objectives, 462 with mails of reports, 463 with objectives of response times,
  // and 474 with members, tokens, certificates and domains.
  expect(Buffer.byteLength(body)).toBeLessThan(475_500);
});

test.each(['antipode.mjs', 'antipode-mcp.mjs'] as const)(
  '%s refuses a Node that is too old in words, before any of it runs',
  async (name) => {
    const file = join(cacheFolder, name);
    await writeFile(file, (await app.inject({ url: `/downloads/${name}` })).body);
    const version = "Object.defineProperty(process.versions, 'node', { value: '18.20.8' })";
    const preload = `--import=data:text/javascript,${encodeURIComponent(version)}`;
    const refused = await runProgram([process.execPath, preload, file, '--version']);
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toMatch(/^antipode\S* needs Node 20 or newer; this is Node 18\.20\.8\.\n/);
    // What Node 18 cannot parse would keep it from getting so far.
    expect(bundling(name).target).toBe('node18');
  },
);
