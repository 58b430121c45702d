import { randomBytes } from 'node:crypto';
import { afterAll, inject } from 'vitest';
import { connect, type Sql } from '../../coordinator/database/connect.ts';
import { createLog } from '../../shared/base/log.ts';
import { dialOnce } from '../../shared/bus/dialling.ts';
import { createAccountIdentity } from '../../shared/bus/identity.ts';
import { type Bus, connectBus } from '../../shared/bus/nats.ts';
import { streams } from '../../shared/bus/subjects.ts';
import { eventually } from './eventually.ts';
import type { Services } from './services-run.ts';

/**
 * For test files: a database and a bus account of their own, on the Postgres and the nats-server of
 * the run.
 */

export { freePort } from '../../deploy/local/home.ts';

let ofThisFile: Services | undefined;

/** From now on this file's tests have these instead of those of the run. */
export const bringServices = (services: Services): void => {
  ofThisFile = services;
};

/** Those that the tests of this file are to use. */
export const servicesHere = (): Services => ofThisFile ?? inject('services');

/**
 * Of a bus of several servers one may be away: what it carries then stands for some ten seconds,
 * until another leads.
 */
export const mayBusStandStill = (): boolean => servicesHere().nats.settings !== undefined;

/** Said once for each file. */
let isSaid = false;

/**
 * Whether this machine has the servers as programs; a run on containers has not, and tests of the
 * programs themselves have nothing to test.
 */
export const hasBinaries = (): boolean => {
  const has = inject('services').from === 'binaries';
  if (!has && !isSaid) {
    isSaid = true;
    process.stderr.write(
      'SKIPPED: tests of this file need nats-server and Postgres as programs on this machine; these are in containers\n',
    );
  }
  return has;
};

export type TestDatabase = { readonly url: string; readonly drop: () => Promise<void> };

const admin = (services: Services) => {
  const url = new URL(services.postgres.url);
  url.pathname = '/postgres';
  return connect(url.href, { name: 'test', connections: 1 });
};

/** A new database with the schema of today, as empty as after the migrations. */
export const createDatabase = async (
  services: Services = servicesHere(),
): Promise<TestDatabase> => {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const sql = admin(services);
  try {
    await sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(services.postgres.template)} STRATEGY file_copy`;
  } finally {
    await sql.end();
  }
  const url = new URL(services.postgres.url);
  url.pathname = `/${name}`;
  const drop = async (): Promise<void> => {
    const last = admin(services);
    await last`DROP DATABASE IF EXISTS ${last(name)} WITH (FORCE)`.finally(() => last.end());
  };
  return { url: url.href, drop };
};

/**
 * One bus of its own: subjects, streams and revocations of other files cannot be seen from here.
 */
export type TestAccount = {
  readonly url: string;
  /** The account's public key; its seed signs users. */
  readonly account: string;
  readonly accountSeed: string;
  readonly accountJwt: string;
  /** May do everything in the account. */
  readonly coordinatorCredentials: string;
  readonly operatorSeed: string;
  readonly systemCredentials: string;
};

/** Of this file, until their streams are deleted. */
const accounts = new Set<TestAccount>();

export const accountsHere = (): readonly TestAccount[] => [...accounts];

/** Whoever was the last to need it. */
export const forgetAccount = (account: TestAccount): void => void accounts.delete(account);

/**
 * Asks the server's resolver to take an account JWT: a new account, or revocations. @throws when it
 * refuses.
 */
export const pushAccount = async (
  url: string,
  systemCredentials: string,
  accountJwt: string,
): Promise<void> => {
  const bus = await dialOnce({ url, credentials: systemCredentials }, { reconnect: false });
  try {
    const answer = (
      await bus.request('$SYS.REQ.CLAIMS.UPDATE', accountJwt, { timeout: 5_000 })
    ).string();
    if (!answer.includes('"code":200'))
      throw new Error(`the bus did not take the account: ${answer}`);
  } finally {
    await bus.close();
  }
};

export const createAccount = async (services: Services = servicesHere()): Promise<TestAccount> => {
  const { url, identity } = services.nats;
  const { operatorSeed, systemCredentials } = identity;
  const made = createAccountIdentity(
    operatorSeed,
    `test-${randomBytes(4).toString('hex')}`,
    Date.now(),
  );
  const push = async (): Promise<true> =>
    pushAccount(url, systemCredentials, made.accountJwt).then(() => true);
  // Where a server is killed every while, the one that was asked may be.
  await (services.nats.settings ? eventually(push) : push());
  const account = { url, ...made, operatorSeed, systemCredentials };
  accounts.add(account);
  return account;
};

/** The part of a coordinator's environment that says which database and which bus it works on. */
export const environmentOf = (
  database: TestDatabase,
  account: TestAccount,
): Readonly<Record<string, string>> => ({
  DATABASE_URL: database.url,
  NATS_URL: account.url,
  NATS_CREDENTIALS: account.coordinatorCredentials,
  NATS_ACCOUNT_PUBLIC: account.account,
  NATS_ACCOUNT_SEED: account.accountSeed,
  NATS_OPERATOR_SEED: account.operatorSeed,
  NATS_SYSTEM_CREDENTIALS: account.systemCredentials,
});

/**
 * For a test file, at its top: a database of its own until its last test is done, and connections
 * to it.
 */
export const ownDatabase = async (
  options?: Parameters<typeof connect>[1],
): Promise<{ database: TestDatabase; sql: Sql }> => {
  const database = await createDatabase();
  const sql = connect(database.url, options);
  afterAll(async () => {
    await sql.end();
    await database.drop();
  });
  return { database, sql };
};

/** For tests on buses of several servers: what the streams themselves say of who keeps them. */

const names = Object.values(streams).map(({ name }) => name);

const onBus = async <Done>(
  { url, coordinatorCredentials }: TestAccount,
  work: (bus: Bus) => Promise<Done>,
): Promise<Done> => {
  const log = createLog({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });
  const bus = await connectBus({
    url,
    credentials: coordinatorCredentials,
    name: 'test',
    log,
    firstConnectionMs: 30_000,
  });
  return await work(bus).finally(bus.close);
};

/** In words, which streams lack how many of the servers that are to keep them. */
const lacking = (account: TestAccount): Promise<readonly string[]> =>
  onBus(account, async (bus) => {
    const states = await Promise.all(
      names.map(async (name) => ({ name, missing: (await bus.streamState(name))?.missing ?? 0 })),
    );
    return states
      .filter(({ missing }) => missing > 0)
      .map(({ name, missing }) => `${name} lacks ${missing}`);
  });

/**
 * Whether no stream that is there lacks a server of those that are to keep it: another one may be
 * taken away only then. @throws with what lacks.
 */
export const areWhole = async (account: TestAccount): Promise<true> => {
  const lacks = await lacking(account);
  if (lacks.length > 0) throw new Error(lacks.join(', '));
  return true;
};

/**
 * A bus of several servers votes on everything in a stream, and on everything in its consumers, for
 * as long as it is there.
 */
export const deleteStreams = (account: TestAccount): Promise<void> =>
  onBus(account, async (bus) => {
    for (const name of names) await eventually(() => bus.deleteStream(name).then(() => true));
  });
