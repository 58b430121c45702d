import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { downloadRooms } from '../../../../coordinator/faces/downloads/bundle.ts';
import { downloadRoutes } from '../../../../coordinator/faces/downloads/routes.ts';
import { restServerOptions } from '../../../../coordinator/faces/rest/index.ts';

const root = resolve(import.meta.dirname, '../../../..');
let cacheFolder: string;
let app: FastifyInstance;
const failures: unknown[] = [];

beforeEach(async () => {
  cacheFolder = await mkdtemp(join(tmpdir(), 'antipode-cache-'));
  app = Fastify({ ...restServerOptions });
  downloadRoutes(app, { cacheFolder, onFailure: (error) => failures.push(error) });
});

afterEach(async () => {
  await app.close();
  await rm(cacheFolder, { recursive: true });
  expect(failures).toEqual([]);
});

test.each(['antipode.mjs', 'antipode-mcp.mjs'])('%s is served as a file to keep, and not again to who has it', async (name) => {
  const first = await app.inject({ url: `/downloads/${name}` });
  expect(first.statusCode).toBe(200);
  expect(first.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'content-disposition': `attachment; filename="${name}"`,
  });
  expect(first.body.startsWith('#!/usr/bin/env node\n')).toBe(true);
  const again = await app.inject({ url: `/downloads/${name}`, headers: { 'if-none-match': String(first.headers.etag) } });
  expect(again.statusCode).toBe(304);
  const weak = await app.inject({ url: `/downloads/${name}`, headers: { 'if-none-match': `"x", W/${first.headers.etag}` } });
  expect(weak.statusCode).toBe(304);
  const head = await app.inject({ method: 'HEAD', url: `/downloads/${name}` });
  expect([head.statusCode, head.headers.etag, head.headers['content-length'], head.body]).toEqual([
    200,
    first.headers.etag,
    first.headers['content-length'],
    '',
  ]);
});

test('a second start finds the bundles by their content', async () => {
  const [first, second] = [await app.inject({ url: '/downloads/antipode.mjs' }), await app.inject({ url: '/downloads/antipode-mcp.mjs' })];
  const kept = (await readdir(cacheFolder)).toSorted();
  expect(kept).toHaveLength(2);
  const later = Fastify();
  downloadRoutes(later, { cacheFolder, onFailure: (error) => failures.push(error) });
  expect((await later.inject({ url: '/downloads/antipode.mjs' })).body).toBe(first.body);
  expect((await later.inject({ url: '/downloads/antipode-mcp.mjs' })).body).toBe(second.body);
  expect((await readdir(cacheFolder)).toSorted()).toEqual(kept);
  await later.close();
});

test('the rooms that decide the name of a bundle are all that it is made of, and none of the schemas comes along', async () => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['shared/client/antipode.ts', 'shared/client/antipode-mcp.ts'],
    outdir: cacheFolder,
    write: false,
    bundle: true,
    platform: 'node',
    format: 'esm',
    metafile: true,
  });
  const inside = Object.keys(metafile.inputs).filter((file) => !file.startsWith('node_modules/') && file !== 'package.json');
  expect(inside.filter((file) => !downloadRooms.some((room) => file.startsWith(`${room}/`)))).toEqual([]);
  const ofCommand = Object.entries(metafile.outputs).find(([file]) => file.endsWith('antipode.js'))?.[1].inputs ?? {};
  expect(Object.keys(ofCommand).filter((file) => file.startsWith('node_modules/'))).toEqual([]);
});

test('the command line is a small download', async () => {
  const { body } = await app.inject({ url: '/downloads/antipode.mjs' });
  // 50 kB before every config key was told of; the words of a hundred more would still fit.
  expect(Buffer.byteLength(body)).toBeLessThan(80_000);
});
