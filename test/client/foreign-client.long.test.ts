import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, openApi } from '../support/api.ts';
import { createTestOrganisation, type TestOrganisation } from '../support/people.ts';
import { createDatabase, type TestDatabase } from '../support/services.ts';
import { generateClient } from './foreign-generate.ts';
import { allMonitors, clientOf, deploy } from './foreign-usage.ts';

const run = promisify(execFile);

const here = (path: string): string => new URL(path, import.meta.url).pathname;

let database: TestDatabase;
let api: Api;
let house: TestOrganisation;
let baseUrl: string;

beforeAll(async () => {
  database = await createDatabase();
  api = await openApi(database.url);
  house = await createTestOrganisation(api.sql);
  baseUrl = await api.listen();
});

afterAll(async () => {
  await api.close();
  await database.drop();
});

describe('A client generated from the API document', () => {
  it('compiles with the strictest checks, and finds mistakes in its use', async () => {
    await generateClient();
    const folder = await mkdtemp(join(tmpdir(), 'antipode-tsc-'));
    const options = {
      strict: true,
      noEmit: true,
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2024', 'dom'],
      types: [],
      skipLibCheck: false,
      allowImportingTsExtensions: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
    };
    try {
      await writeFile(
        join(folder, 'tsconfig.json'),
        JSON.stringify({ compilerOptions: options, files: [here('foreign-usage.ts')] }),
      );
      await run(process.execPath, [here('node_modules/typescript/bin/tsc'), '-p', folder]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('works against the running service', async () => {
    const client = clientOf(baseUrl, house.member.readWrite);
    const { shop, group, ...seen } = await deploy(client);
    expect(seen).toEqual({
      scope: 'read_write',
      sameGroup: true,
      statuses: [200, 204, 204, 404, 422],
      paused: false,
      status: 'paused',
      days: 7,
      covered: [shop.id, group.id],
      incidents: 0,
      missing: 'monitor_not_found',
      crooked: 'uuid_parsing',
    });
  });

  it('walks over all pages of a list', async () => {
    const client = clientOf(baseUrl, house.admin.readWrite);
    const names = Array.from({ length: 7 }, (_, place) => `Page ${place}`);
    for (const name of names)
      await client.POST('/api/v1/monitors', {
        body: { type: 'heartbeat', name, target: '', affects_group_status: true },
      });
    const walked = await allMonitors(client, 3);
    expect(walked.map(({ name }) => name).filter((name) => name.startsWith('Page'))).toEqual(names);
  });

  it('refuses a wrong token', async () => {
    await expect(deploy(clientOf(baseUrl, 'svc_wrong'))).rejects.toThrow('token_invalid');
  });
});
