import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type App, createApp } from '../../coordinator/app.ts';
import { readConfig } from '../../coordinator/config.ts';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { createLog } from '../../shared/base/log.ts';
import { createTcpProxy, type TcpProxy } from '../support/connections.ts';
import { createFickleDatabase } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { isWell, startCoordinatorProcess } from '../support/network.ts';
import { createTestOrganisation, type TestOrganisation, testSecretKey } from '../support/people.ts';
import { startChildProgram } from '../support/processes.ts';
import { createAccount, environmentOf, freePort, ownDatabase } from '../support/services.ts';

/** A coordinator that is started before its database and its bus are there waits for them, in words, and goes on by itself. */

const { database, sql } = await ownDatabase();
let house: TestOrganisation;
let environment: Record<string, string>;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  house = await createTestOrganisation(sql);
  environment = { ...environmentOf(database, await createAccount()), SECRET_KEY: testSecretKey, PORT: '0' };
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const relayTo = async (target: string | (() => string)): Promise<TcpProxy> => {
  const relay = await createTcpProxy(target);
  ends.push(relay.close);
  return relay;
};

type Begun = {
  readonly app: App;
  readonly url: string;
  readonly said: () => string;
  readonly isUp: () => boolean;
  readonly up: Promise<unknown>;
};

/** One that is being started, and what it has said. */
const begin = async (also: Readonly<Record<string, string>>): Promise<Begun> => {
  const port = await freePort();
  let said = '';
  const hear = (line: string): void => {
    said += line;
  };
  const log = createLog({ name: 'test', level: 'info' }, { write: hear });
  const app = createApp(readConfig({ ...environment, ...also, PORT: String(port) }), { log });
  ends.push(app.close);
  let isUp = false;
  const up = app.start().then(() => {
    isUp = true;
  });
  up.catch(() => undefined); // Whoever waits for it hears of it.
  return { app, url: `http://127.0.0.1:${port}`, said: () => said, isUp: () => isUp, up };
};

const startRecovering = async (): Promise<string> => {
  const recovering = await createFickleDatabase(database.url, () => true);
  ends.push(recovering.close);
  return recovering.url;
};

const partsOf = async (url: string): Promise<unknown> => {
  const answer = await fetch(`${url}/health`);
  return [answer.status, ((await answer.json()) as { parts: unknown }).parts];
};

describe('a coordinator whose database is not there yet', () => {
  const nowhere = async () => `postgres://127.0.0.1:${await freePort()}`;
  test.each([
    { how: 'closes every connection', place: nowhere, words: 'look whether a Postgres runs there' },
    { how: 'is starting up', place: startRecovering, words: 'the database system is starting up' },
  ])('and which $how waits for it, says so, and goes on by itself', async ({ place, words }) => {
    let target = await place();
    const relay = await relayTo(() => target);
    const begun = await begin({ DATABASE_URL: relay.through(database.url) });
    await eventually(() => begun.said().includes('waits for the database') && begun.said().includes(words));
    expect(begun.isUp()).toBe(false);
    target = database.url;
    await begun.up;
    expect(begun.said()).toContain('the database is there');
  });

  test('and says nothing at all waits for it; meanwhile it is not well, and callers are told so', async () => {
    const relay = await relayTo(database.url);
    relay.silence();
    const begun = await begin({ DATABASE_URL: relay.through(database.url) });
    await eventually(() => begun.said().includes('waits for the database'));
    expect(await partsOf(begun.url)).toMatchObject([503, { database: false, partitions: false }]);
    const called = await fetch(`${begun.url}/api/v1/monitors`, { headers: { authorization: `Bearer ${house.owner.readWrite}` } });
    expect([called.status, await called.json()]).toMatchObject([503, { error: { code: 'unavailable' } }]);
    relay.heal();
    await begun.up;
    await eventually(() => isWell(begun.url));
  });

  test('and refuses connections waits for it, and says where it looked', async () => {
    const port = await freePort();
    const url = new URL(database.url);
    url.port = String(port);
    const begun = await begin({ DATABASE_URL: url.href });
    await eventually(() => begun.said().includes(`nothing answers at ${url.host} (ECONNREFUSED)`));
    expect(begun.said()).not.toContain('could not');
  });

  test('ends when it is told to, at once', async () => {
    const relay = await relayTo(database.url);
    relay.silence();
    const main = join(import.meta.dirname, '../../coordinator/main.ts');
    const env = { ...environment, DATABASE_URL: relay.through(database.url), PORT: String(await freePort()), LOG_LEVEL: 'info' };
    const waiting = await startChildProgram([process.execPath, main], env, (output) => output.includes('waits for the database'));
    waiting.signal('SIGTERM');
    expect(await waiting.exited).toBe(0);
  });

  test('ends where waiting helps nobody', async () => {
    const url = new URL(database.url);
    url.username = 'nobody_of_this_name';
    url.password = 'a guess';
    const { up } = await begin({ DATABASE_URL: url.href });
    const said: unknown = await up.catch((error: unknown) => error);
    expect(said).toBeInstanceOf(ConfigurationFault);
    expect(said).toMatchObject({ message: expect.stringContaining('check user and password') });
    url.href = database.url;
    url.pathname = '/no_such_database';
    const other: unknown = await (await begin({ DATABASE_URL: url.href })).up.catch((error: unknown) => error);
    expect(other).toMatchObject({ message: expect.stringContaining('has no database no_such_database') });
  });

  test('and refuses every second connection comes up, and nobody has to start it again', async () => {
    const fickle = await createFickleDatabase(database.url, (call) => call % 2 === 1);
    ends.push(fickle.close);
    const begun = await begin({ DATABASE_URL: fickle.url });
    await begun.up;
    expect(fickle.refused()).toBeGreaterThan(3);
    await eventually(() => isWell(begun.url));
  });

  test('and is a quarter of a second away comes up', async () => {
    const relay = await relayTo(database.url);
    relay.delay(125);
    const coordinator = await startCoordinatorProcess({ ...environment, DATABASE_URL: relay.through(database.url) });
    await coordinator.close();
  });
});

describe('a coordinator whose bus is not there yet', () => {
  test('waits for it, says so, and goes on by itself', async () => {
    const relay = await relayTo(environment.NATS_URL ?? '');
    relay.cut();
    const begun = await begin({ NATS_URL: relay.url });
    await eventually(() => begun.said().includes('the bus cannot be reached'));
    expect(await partsOf(begun.url)).toMatchObject([503, { database: true, bus: false }]);
    relay.heal();
    await begun.up;
  });

  test('and whose database went meanwhile, waits for that, too', async () => {
    const bus = await relayTo(environment.NATS_URL ?? '');
    const relay = await relayTo(database.url);
    bus.cut();
    const begun = await begin({ NATS_URL: bus.url, DATABASE_URL: relay.through(database.url) });
    await eventually(() => begun.said().includes('the bus cannot be reached'));
    relay.cut();
    bus.heal();
    await eventually(() => begun.said().includes('waits for the database'));
    relay.heal();
    await begun.up;
  });

  test('ends when it is told to, at once', async () => {
    const relay = await relayTo(environment.NATS_URL ?? '');
    relay.silence();
    const begun = await begin({ NATS_URL: relay.url });
    await eventually(() => begun.said().includes('the bus cannot be reached'));
    await begun.app.close();
    expect(begun.isUp()).toBe(false);
  });
});
