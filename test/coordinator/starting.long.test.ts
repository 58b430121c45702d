import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { type App, createApp } from '../../coordinator/app.ts';
import { readConfig } from '../../coordinator/config.ts';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { createLog } from '../../shared/base/log.ts';
import { enrolmentPath } from '../../shared/bus/identity.ts';
import { isSafeServer } from '../../shared/bus/jetstream.ts';
import { createTcpProxy, portOf, type TcpProxy } from '../support/connections.ts';
import { createFickleDatabase } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { isWell, startCoordinatorProcess } from '../support/network.ts';
import { createTestOrganisation, type TestOrganisation, testSecretKey } from '../support/people.ts';
import { startChildProgram } from '../support/processes.ts';
import {
  createAccount,
  createDatabase,
  environmentOf,
  freePort,
  ownDatabase,
} from '../support/services.ts';

/**
 * A coordinator that is started before its database and its bus are there waits for them, in words,
 * and goes on by itself.
 */
describe('starting', async () => {
  const { database, sql } = await ownDatabase();
  let house: TestOrganisation;
  let environment: Record<string, string>;
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    house = await createTestOrganisation(sql);
    environment = {
      ...environmentOf(database, await createAccount()),
      SECRET_KEY: testSecretKey,
      PORT: '0',
    };
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
      {
        how: 'closes every connection',
        place: nowhere,
        words: 'check that a Postgres runs there',
      },
      {
        how: 'is starting up',
        place: startRecovering,
        words: 'the database system is starting up',
      },
    ])('that $how waits for it, says so, and continues by itself', async ({ place, words }) => {
      let target = await place();
      const relay = await relayTo(() => target);
      const begun = await begin({ DATABASE_URL: relay.through(database.url) });
      await eventually(
        () => begun.said().includes('waits for the database') && begun.said().includes(words),
      );
      expect(begun.isUp()).toBe(false);
      target = database.url;
      await begun.up;
      expect(begun.said()).toContain('connected to the database');
    });

    test('that never answers waits for it; meanwhile it is unhealthy, and callers are told so', async () => {
      const relay = await relayTo(database.url);
      relay.silence();
      const begun = await begin({ DATABASE_URL: relay.through(database.url) });
      await eventually(() => begun.said().includes('waits for the database'));
      expect(await partsOf(begun.url)).toMatchObject([503, { database: false, partitions: false }]);
      const called = await fetch(`${begun.url}/api/v1/monitors`, {
        headers: { authorization: `Bearer ${house.owner.readWrite}` },
      });
      expect([called.status, await called.json()]).toMatchObject([
        503,
        { error: { code: 'unavailable' } },
      ]);
      relay.heal();
      await begun.up;
      await eventually(() => isWell(begun.url));
    });

    test('that refuses connections waits for it, and says where it tried', async () => {
      const port = await freePort();
      const url = new URL(database.url);
      url.port = String(port);
      const begun = await begin({ DATABASE_URL: url.href });
      await eventually(() =>
        begun.said().includes(`nothing answers at ${url.host} (ECONNREFUSED)`),
      );
      expect(begun.said()).not.toContain('could not');
    });

    test('ends at once when it is stopped', async () => {
      const relay = await relayTo(database.url);
      relay.silence();
      const main = join(import.meta.dirname, '../../coordinator/main.ts');
      const env = {
        ...environment,
        DATABASE_URL: relay.through(database.url),
        PORT: String(await freePort()),
        LOG_LEVEL: 'info',
      };
      const waiting = await startChildProgram([process.execPath, main], env, (output) =>
        output.includes('waits for the database'),
      );
      waiting.signal('SIGTERM');
      expect(await waiting.exited).toBe(0);
    });

    test('ends where waiting cannot help', async () => {
      const url = new URL(database.url);
      url.username = 'nobody_of_this_name';
      url.password = 'a guess';
      const { up } = await begin({ DATABASE_URL: url.href });
      const said: unknown = await up.catch((error: unknown) => error);
      expect(said).toBeInstanceOf(ConfigurationFault);
      expect(said).toMatchObject({ message: expect.stringContaining('check user and password') });
      url.href = database.url;
      url.pathname = '/no_such_database';
      const other: unknown = await (await begin({ DATABASE_URL: url.href })).up.catch(
        (error: unknown) => error,
      );
      expect(other).toMatchObject({
        message: expect.stringContaining('has no database no_such_database'),
      });
    });

    test('that refuses every second connection starts, without a restart', async () => {
      const fickle = await createFickleDatabase(database.url, (call) => call % 2 === 1);
      ends.push(fickle.close);
      const begun = await begin({ DATABASE_URL: fickle.url });
      await begun.up;
      expect(fickle.refused()).toBeGreaterThan(3);
      await eventually(() => isWell(begun.url));
    });

    test('that is a quarter of a second away starts', async () => {
      const relay = await relayTo(database.url);
      relay.delay(125);
      const coordinator = await startCoordinatorProcess({
        ...environment,
        DATABASE_URL: relay.through(database.url),
      });
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

    test('and whose database was lost meanwhile, waits for that, too', async () => {
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

    test('ends at once when it is stopped', async () => {
      const relay = await relayTo(environment.NATS_URL ?? '');
      relay.silence();
      const begun = await begin({ NATS_URL: relay.url });
      await eventually(() => begun.said().includes('the bus cannot be reached'));
      await begun.app.close();
      expect(begun.isUp()).toBe(false);
    });
  });
});

describe('listening', () => {
  test('a coordinator with an unusable address says which variable is wrong, and leaves nothing behind', async () => {
    const database = await createDatabase();
    const environment = {
      ...environmentOf(database, await createAccount()),
      SECRET_KEY: 'a key with more than enough characters',
    };
    const other = createServer();
    const taken = await portOf(other);
    const log = createLog({ name: 'test', level: 'silent' });
    const fault = async (where: Record<string, string>): Promise<unknown> => {
      const app = createApp(readConfig({ ...environment, ...where }), { log });
      const said: unknown = await app.start().catch((error: unknown) => error);
      await app.close();
      return said;
    };

    const [inUse, elsewhere] = [
      await fault({ PORT: String(taken) }),
      await fault({ PORT: '0', HOST: '192.0.2.1' }),
    ];
    for (const said of [inUse, elsewhere]) expect(said).toBeInstanceOf(ConfigurationFault);
    expect(inUse).toMatchObject({ message: expect.stringContaining(`port ${taken} is taken`) });
    expect(elsewhere).toMatchObject({
      message: expect.stringContaining('HOST=192.0.2.1 is no address of this machine'),
    });
    other.close();
    await database.drop();
  });
});

describe('closing', async () => {
  const { database, sql } = await ownDatabase();
  let house: TestOrganisation;
  let environment: Record<string, string>;

  beforeAll(async () => {
    house = await createTestOrganisation(sql);
    environment = {
      ...environmentOf(database, await createAccount()),
      SECRET_KEY: testSecretKey,
      PORT: '0',
    };
  });
  /** A request whose head has arrived, and whose body has not. */
  const begun = async (
    url: string,
    path: string,
    headers: Record<string, string>,
  ): Promise<ClientRequest> => {
    const sent = request(`${url}${path}`, {
      method: 'POST',
      agent: false,
      headers: { ...headers, expect: '100-continue' },
    });
    sent.on('error', () => undefined); // Whether it was cut off shows in its end.
    sent.flushHeaders();
    await once(sent, 'continue');
    return sent;
  };

  const log = createLog({ name: 'test', level: 'silent' });
  const json = () => ({
    authorization: `Bearer ${house.owner.readWrite}`,
    'content-type': 'application/json',
  });

  test('a coordinator that ends accepts no new requests, and completes the current ones', async () => {
    const app = createApp(readConfig(environment), { log, lastAnswersMs: 60_000 });
    const { url } = await app.start();
    const body = '{"name":"at the last moment"}';
    const slow = await begun(url, '/api/v1/groups', {
      ...json(),
      'content-length': String(body.length),
    });
    const closed = app.close();
    await eventually(() =>
      fetch(`${url}/health`).then(
        () => false,
        () => true,
      ),
    );
    const answered = once(slow, 'response');
    slow.end(body);
    const [response] = await answered;
    expect([response.statusCode, JSON.parse(await text(response)).name]).toEqual([
      201,
      'at the last moment',
    ]);
    await closed;
    expect(await sql`select name from groups`).toEqual([{ name: 'at the last moment' }]);
  });

  test('and does not wait for a stalled one', async () => {
    const app = createApp(readConfig(environment), { log });
    const { url } = await app.start();
    const stalled = await begun(url, '/api/v1/groups', { ...json(), 'content-length': '100' });
    const cut = new Promise((resolve) => stalled.once('close', resolve));
    await app.close();
    await cut;
  });

  test('before that it reports that it is not ready, and answers until balancers had time to notice', async () => {
    const elsewhere = Promise.withResolvers<void>();
    const app = createApp(readConfig(environment), {
      log,
      lookedElsewhere: () => elsewhere.promise,
    });
    const { url } = await app.start();
    const ask = async (path: string) => {
      const answer = await fetch(`${url}${path}`);
      return { status: answer.status, body: await answer.json() };
    };
    expect(await eventually(async () => (await ask('/readyz')).status === 200)).toBe(true);
    const closed = app.close();
    expect(await ask('/readyz')).toMatchObject({
      status: 503,
      body: { why: expect.arrayContaining(['This coordinator is shutting down.']) },
    });
    expect((await ask('/livez')).status).toBe(200);
    expect(
      (
        await fetch(`${url}/api/v1/monitors`, {
          headers: { authorization: `Bearer ${house.owner.read}` },
        })
      ).status,
    ).toBe(200);
    elsewhere.resolve();
    await closed;
    await expect(fetch(`${url}/readyz`)).rejects.toThrow();
  });

  test('a bus with known holes that is reachable from outside is reported in words; all that needs no bus goes on', async () => {
    const open = { ...environment, NATS_PUBLIC_URL: 'tls://bus.example:443' };
    const app = createApp(readConfig(open), { log });
    const { url } = await app.start();
    const seen = await eventually(async () => {
      const { why } = (await (await fetch(`${url}/health`)).json()) as { why: string[] };
      // Which server the run has, the machine decides; there is no probe.
      const said = why.filter((line) => !line.includes('known holes'));
      return said.length === 1 ? { isToldOf: why.length === 2 } : undefined;
    });
    const { version } = inject('services').nats;
    expect(seen).toEqual({ isToldOf: !isSafeServer(version.join('.')) });
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    await app.close();
  });
});

describe('behind proxies', async () => {
  /** Linux has all of 127.0.0.0/8: this is the proxy's, and 127.0.0.1 a stranger's. */
  const proxy = '127.0.0.2';
  const unknownSender = '127.0.0.1';

  const { database } = await ownDatabase();
  let app: App;
  let url: string;
  beforeAll(async () => {
    const environment = {
      ...environmentOf(database, await createAccount()),
      SECRET_KEY: testSecretKey,
      PORT: '0',
      TRUSTED_PROXIES: proxy,
      BASE_URL: 'https://antipode.example',
    };
    app = createApp(readConfig(environment), { log: createLog({ name: 'test', level: 'silent' }) });
    ({ url } = await app.start());
  });
  afterAll(() => app?.close());

  const ask = async (
    localAddress: string,
    {
      path,
      method = 'GET',
      headers = {},
      body = '',
    }: { path: string; method?: string; headers?: Record<string, string>; body?: string },
  ): Promise<{
    status: number | undefined;
    headers: NodeJS.Dict<string | string[]>;
    text: string;
  }> => {
    const asked = request(`${url}${path}`, { localAddress, method, headers, agent: false });
    const answered = once(asked, 'response');
    asked.end(body);
    const [answer] = await answered;
    let text = '';
    for await (const part of answer) text += String(part);
    return { status: answer.statusCode, headers: answer.headers, text };
  };

  const enrol = async (localAddress: string, forwardedFor: string): Promise<number | undefined> => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': forwardedFor };
    const body = JSON.stringify({ token: 'svcj_', key: 'none', proof: 'none' });
    return (await ask(localAddress, { path: enrolmentPath, method: 'POST', headers, body })).status;
  };

  const tries = 60;
  const invalid = 404;
  const tooMany = 429;

  test('hosts behind a proxy that is trusted are counted each by itself, whatever they claim', async () => {
    const [first] = await Promise.all(
      Array.from({ length: tries }, () => enrol(proxy, '198.51.100.1')),
    );
    expect(first).toBe(invalid);
    expect(await enrol(proxy, '198.51.100.1')).toBe(tooMany);
    expect(await enrol(proxy, '203.0.113.9, 198.51.100.1')).toBe(tooMany);
    expect(await enrol(proxy, '198.51.100.2')).toBe(invalid);
  });

  test('a client that is not a trusted proxy is counted by its own address, whatever it claims', async () => {
    expect(await enrol(unknownSender, '198.51.100.1')).toBe(invalid);
    await Promise.all(
      Array.from({ length: tries - 1 }, (_, each) => enrol(unknownSender, `203.0.113.${each}`)),
    );
    expect(await enrol(unknownSender, '203.0.113.200')).toBe(tooMany);
  });

  test.each(['/api/v1/openapi.json', '/mcp'])(
    'calls of %s without a token are counted by the same host',
    async (path) => {
      const left = async (from: string): Promise<number> =>
        Number(
          (await ask(proxy, { path, headers: { 'x-forwarded-for': from } })).headers[
            'ratelimit-remaining'
          ],
        );
      // Again with other addresses where a minute ends in between.
      let round = 0;
      await eventually(async () => {
        round += 1;
        // A host has a whole /64 of addresses.
        const [one, same, other] = [
          `2001:db8:${path.length}:${round}::1`,
          `2001:db8:${path.length}:${round}::2`,
          `2001:db8:f${round}::1`,
        ];
        const before = await left(one);
        return before > 1 && (await left(same)) === before - 1 && (await left(other)) === before;
      });
    },
  );

  test('links never use the host that a proxy names', async () => {
    const headers = {
      'x-forwarded-host': 'theirs.example',
      'x-forwarded-proto': 'http',
      'x-forwarded-for': '198.51.100.3',
    };
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-authorization-server',
    ]) {
      const { text } = await ask(proxy, { path, headers });
      expect(text).toContain('https://antipode.example');
      expect(text).not.toContain('theirs.example');
    }
  });
});

describe('database connections', async () => {
  const { database, sql } = await ownDatabase({ name: 'counting', connections: 2 });

  test('a coordinator never has more connections to the database than it may, whatever it is asked, and five fit a default Postgres', async () => {
    const house = await createTestOrganisation(sql);
    const environment = {
      ...environmentOf(database, await createAccount()),
      SECRET_KEY: testSecretKey,
      PORT: '0',
    };
    const usual = readConfig(environment).DATABASE_CONNECTIONS;
    // Of 100 connections three are the superuser's; some are left for the operator.
    expect(5 * usual).toBeLessThan(97 - 5);
    const app = createApp(
      readConfig({ ...environment, DATABASE_CONNECTIONS: '12', RATE_LIMIT_PER_MINUTE: '100000' }),
      {
        log: createLog({ name: 'test', level: 'silent' }),
      },
    );
    const { url } = await app.start();
    let limit = 0;
    for (let round = 0; round < 5; round += 1) {
      const headers = { authorization: `Bearer ${house.owner.readWrite}` };
      const asked = Promise.all(
        Array.from({ length: 60 }, () => fetch(`${url}/api/v1/monitors`, { headers })),
      );
      const [row] = await sql<{ count: number }[]>`
      select count(*) from pg_stat_activity where datname = current_database() and application_name <> 'counting'`;
      limit = Math.max(limit, row?.count ?? 0);
      for (const answer of await asked) expect(answer.status).toBe(200);
    }
    await app.close();
    expect(limit).toBeGreaterThan(5);
    expect(limit).toBeLessThanOrEqual(12);
  });
});
