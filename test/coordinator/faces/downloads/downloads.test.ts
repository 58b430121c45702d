import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { downloadRoutes } from '../../../../coordinator/faces/downloads/routes.ts';
import { restServerOptions } from '../../../../coordinator/faces/rest/index.ts';

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
