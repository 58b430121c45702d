import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { busVariables, readSettings, type Settings } from '../../../deploy/local/home.ts';
import { faultsOfOwnDependencies } from '../../../deploy/local/nats.ts';
import { createBusIdentity } from '../../../shared/bus/identity.ts';
import { createAccount, createDatabase, environmentOf, freePort, type TestAccount, type TestDatabase } from '../../support/services.ts';

let database: TestDatabase;
let account: TestAccount;

beforeAll(async () => {
  database = await createDatabase();
  account = await createAccount();
});
afterAll(async () => {
  await database.drop();
});

const changed = (change: (url: URL) => void): string => {
  const url = new URL(database.url);
  change(url);
  return url.href;
};

const own = (more: Readonly<Record<string, string>>): Settings => readSettings({ ...environmentOf(database, account), ...more });

const faultsWith = async (more: Readonly<Record<string, string>>): Promise<string> => (await faultsOfOwnDependencies(own(more))).join('\n');

describe('a database and a bus of one’s own', () => {
  test('that let us in have no fault', async () => {
    expect(await faultsOfOwnDependencies(own({}))).toEqual([]);
  });

  test('at a wrong port are told by the variable and the place, without the password', async () => {
    const port = await freePort();
    const said = await faultsWith({
      DATABASE_URL: changed((url) => {
        url.port = String(port);
      }),
    });
    expect(said).toMatch(new RegExp(`^DATABASE_URL: nothing answers at 127\\.0\\.0\\.1:${port}.*check host and port`));
    expect(said).not.toContain(new URL(database.url).password);
  });

  test('of a host without an address, a wrong password, a database that is not there: each is told as what it is', async () => {
    const nowhere = await faultsWith({
      DATABASE_URL: changed((url) => {
        url.hostname = 'nowhere.invalid';
      }),
    });
    expect(nowhere).toMatch(/^DATABASE_URL: the host nowhere\.invalid is not known: check its name/);
    const guessed = await faultsWith({
      DATABASE_URL: changed((url) => {
        url.password = 'wr0ngGuess';
      }),
    });
    expect(guessed).toMatch(
      /^DATABASE_URL: the Postgres at .* does not let postgres in.*password authentication failed.*check user and password/,
    );
    expect(guessed).not.toContain('wr0ngGuess');
    const absent = await faultsWith({
      DATABASE_URL: changed((url) => {
        url.pathname = '/absent';
      }),
    });
    expect(absent).toMatch(/^DATABASE_URL: the Postgres at .* has no database absent: create it/);
  });

  test('that are both wrong are both told', async () => {
    const port = await freePort();
    const said = await faultsWith({ NATS_URL: `nats://127.0.0.1:${port}`, DATABASE_URL: `postgres://u:p@127.0.0.1:${port}/d` });
    expect(said).toContain('DATABASE_URL: nothing answers');
    expect(said).toContain(`NATS_URL: nothing answers at nats://127.0.0.1:${port}`);
  });

  test('whose bus does not take the credentials are told which', async () => {
    const said = await faultsWith({ NATS_SYSTEM_CREDENTIALS: createBusIdentity(Date.now()).systemCredentials });
    expect(said).toMatch(/^NATS_SYSTEM_CREDENTIALS: /);
    expect(busVariables.filter((name) => said.includes(`${name}:`))).toEqual(['NATS_SYSTEM_CREDENTIALS']);
  });
});
