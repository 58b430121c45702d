import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operate } from '../../../coordinator/operator/operate.ts';
import { testSecretKey } from '../../support/people.ts';
import {
  createAccount,
  createDatabase,
  environmentOf,
  type TestDatabase,
} from '../../support/services.ts';

/** What must be kept beside backups. */

let folder: string;
let database: TestDatabase;
let environment: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antipode-keys-'));
  database = await createDatabase();
  environment = { ...environmentOf(database, await createAccount()), SECRET_KEY: testSecretKey };
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});

const run = async (surroundings: Record<string, string>, ...argv: readonly string[]) => {
  const said = { out: '', err: '' };
  const out = (text: string) => {
    said.out += text;
  };
  const err = (text: string) => {
    said.err += text;
  };
  const code = await operate(argv, surroundings, { out, err, watched: false });
  return { code, ...said };
};

test('the keys are exported under a passphrase, and imported as settings on an empty machine', async () => {
  const [file, passphrase, other, to] = [
    join(folder, 'keys'),
    join(folder, 'phrase'),
    join(folder, 'other'),
    join(folder, 'opened.env'),
  ];
  await writeFile(passphrase, 'correct horse battery\n');
  await writeFile(other, 'another passphrase');
  const exporting = ['keys', 'export', '--file', file, '--passphrase-file', passphrase, '--json'];
  expect(await run(environment, ...exporting)).toMatchObject({ code: 0, err: '' });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const locked = await readFile(file, 'utf8');
  for (const secret of [testSecretKey, environment.NATS_OPERATOR_SEED ?? 'missing'])
    expect(locked).not.toContain(secret);
  // What is there is never written over.
  expect((await run(environment, ...exporting)).code).toBe(1);
  expect(await readFile(file, 'utf8')).toBe(locked);
  const importing = (phrase: string) =>
    run({}, 'keys', 'import', '--file', file, '--passphrase-file', phrase, '--to', to, '--json');
  expect(await importing(other)).toMatchObject({
    code: 2,
    err: expect.stringContaining('cannot be decrypted'),
  });
  expect((await importing(passphrase)).code).toBe(0);
  const settings = Object.fromEntries(
    (await readFile(to, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s)),
  );
  expect(settings).toMatchObject({
    SECRET_KEY: testSecretKey,
    NATS_OPERATOR_SEED: environment.NATS_OPERATOR_SEED,
    NATS_ACCOUNT_SEED: environment.NATS_ACCOUNT_SEED,
  });
  await writeFile(other, 'short');
  expect((await importing(other)).err).toContain('at least 12 characters');
});
