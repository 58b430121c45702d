import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../../../shared/client/cli.ts';
import {
  CallRefused,
  type CommandContext,
  createHttpClient,
  exits,
  ServiceNotReached,
} from '../../../shared/client/http.ts';
import { openServed, type Served } from '../../support/api.ts';
import { mint } from '../../support/certificates.ts';
import { portOf } from '../../support/connections.ts';
import { runProgram } from '../../support/processes.ts';

describe('http client', () => {
  /** What a service may answer that the real one seldom does. */
  const open: { close: () => Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
  });

  type Answer = { status?: number; headers?: Record<string, string>; body?: string };

  const serve = async (
    answer: (request: IncomingMessage, nth: number) => Answer | undefined,
  ): Promise<{ url: string; calls: string[] }> => {
    const calls: string[] = [];
    const server = createServer((request: IncomingMessage, response: ServerResponse) => {
      calls.push(`${request.method} ${request.url}`);
      const given = answer(request, calls.length);
      if (given)
        response
          .writeHead(given.status ?? 200, { 'content-type': 'application/json', ...given.headers })
          .end(given.body ?? '{}');
    });
    const port = await portOf(server);
    open.push({
      close: () =>
        new Promise((resolve) => {
          server.closeAllConnections();
          server.close(() => resolve());
        }),
    });
    return { url: `http://127.0.0.1:${port}`, calls };
  };

  const token = 'svc_secretsecretsecret';
  const client = (url: string, more: { waits?: number[]; timeoutMs?: number } = {}) =>
    createHttpClient({
      settings: { url, token },
      userAgent: 'antipode/test',
      onWait: (seconds) => more.waits?.push(seconds),
      wait: async () => {},
      ...(more.timeoutMs !== undefined && { timeoutMs: more.timeoutMs }),
    });

  const me = { method: 'GET', path: '/api/v1/me' };

  test('over the rate limit it waits once, as the header says, and says so', async () => {
    const { url, calls } = await serve((_, nth) =>
      nth === 1
        ? {
            status: 429,
            headers: { 'retry-after': '7' },
            body: '{"error":{"code":"rate_limited"}}',
          }
        : {},
    );
    const waits: number[] = [];
    await client(url, { waits }).call(me);
    expect(waits).toEqual([7]);
    expect(calls).toHaveLength(2);
  });

  test('over the rate twice is refused, with the code', async () => {
    const { url, calls } = await serve(() => ({
      status: 429,
      headers: { 'retry-after': '7' },
      body: '{"error":{"code":"rate_limited","message":"Slow down"}}',
    }));
    await expect(client(url).call(me)).rejects.toMatchObject({ code: 'rate_limited', status: 429 });
    expect(calls).toHaveLength(2);
  });

  test('a POST whose answer got lost is sent once more with the key that it had, and no other call is', async () => {
    const keys: (string | string[] | undefined)[] = [];
    const { url, calls } = await serve((request, nth) => {
      keys.push(request.headers['idempotency-key']);
      if (nth === 1) request.socket.destroy();
      return nth === 2
        ? { status: 409, body: '{"error":{"code":"idempotency_key_in_use"}}' }
        : { body: '{"id":"x"}' };
    });
    const create = { method: 'POST', path: '/x', body: {} };
    expect((await client(url).call(create)).body).toEqual({ id: 'x' });
    expect(new Set(keys).size).toBe(1);
    await client(url).call(create);
    expect([calls.length, new Set(keys).size]).toEqual([4, 2]);
    expect(keys.every((key) => typeof key === 'string' && key.length > 30)).toBe(true);

    const broken = await serve((request) => {
      request.socket.destroy();
      return undefined;
    });
    await expect(client(broken.url).call(create)).rejects.toThrow(ServiceNotReached);
    expect(broken.calls).toHaveLength(2);
    await expect(
      client(broken.url).call({ method: 'PATCH', path: '/x', body: {} }),
    ).rejects.toThrow(ServiceNotReached);
    expect(broken.calls).toHaveLength(3);
  });

  test('a 422 keeps its faults field by field', async () => {
    const body = JSON.stringify({
      detail: [
        { type: 'missing', loc: ['body', 'type'], msg: 'Field required', input: {}, newer: true },
      ],
    });
    const { url } = await serve(() => ({ status: 422, body }));
    const error = await client(url)
      .call(me)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CallRefused);
    expect(error).toMatchObject({ faults: [{ loc: ['body', 'type'], msg: 'Field required' }] });
  });

  test('pages are walked to the end into one document', async () => {
    const { url, calls } = await serve((request) =>
      request.url?.includes('cursor=two')
        ? { body: '{"items":[3],"next_cursor":null}' }
        : { body: '{"items":[1,2],"next_cursor":"two","newer":1}' },
    );
    const counts: number[] = [];
    const { body } = await client(url).callAllPages({ method: 'GET', path: '/x' }, (count) =>
      counts.push(count),
    );
    expect(body).toEqual({ items: [1, 2, 3], next_cursor: null });
    expect(counts).toEqual([2, 3]);
    expect(calls).toEqual(['GET /x?limit=200', 'GET /x?limit=200&cursor=two']);
  });

  test('a list that repeats its cursor is given up', async () => {
    const { url } = await serve(() => ({ body: '{"items":[1],"next_cursor":"again"}' }));
    await expect(client(url).callAllPages({ method: 'GET', path: '/x' })).rejects.toThrow(
      ServiceNotReached,
    );
  });

  test.each<[string, Answer | undefined, RegExp]>([
    [
      'a redirect',
      { status: 302, headers: { location: 'http://elsewhere.example/' } },
      /redirects elsewhere/,
    ],
    ['a page that is not ours', { body: '<html>' }, /not JSON/],
    ['silence', undefined, /did not answer within/],
  ])('%s is a service not reached, and the token goes nowhere', async (_, answer, message) => {
    const { url, calls } = await serve(() => answer);
    const error = await client(url, { timeoutMs: 200 })
      .call(me)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServiceNotReached);
    expect(String(error)).toMatch(message);
    expect(String(error)).not.toContain(token);
    expect(calls).toHaveLength(1);
  });

  test('a refused connection is a service not reached', async () => {
    const { url } = await serve(() => ({}));
    await open.splice(0)[0]?.close();
    await expect(client(url).call(me)).rejects.toThrow(
      /cannot be reached \(nothing listens there\)/,
    );
  });

  test.each<[string, { readonly names?: string[]; readonly to?: Date }, RegExp]>([
    [
      'signed by itself',
      { names: ['127.0.0.1'] },
      /signed by itself; NODE_EXTRA_CA_CERTS=FILE names one to trust/,
    ],
    ['expired', { names: ['127.0.0.1'], to: new Date('2021-01-01T00:00:00Z') }, /certificate/],
  ])('a certificate that is %s is told in words', async (_, wanted, words) => {
    const { certificate: cert, key } = mint({ from: new Date('2020-01-01T00:00:00Z'), ...wanted });
    const server = createSecureServer({ cert, key });
    const port = await portOf(server);
    open.push({ close: () => new Promise((resolve) => server.close(() => resolve())) });
    const at = `https://127.0.0.1:${port}`;
    await expect(client(at).call(me)).rejects.toThrow(ServiceNotReached);
    await expect(client(at).call(me)).rejects.toThrow(words);
  });

  test('an address with the wrong protocol says which is meant', async () => {
    const { url } = await serve(() => ({}));
    await expect(client(url.replace('http:', 'https:')).call(me)).rejects.toThrow(
      /answers without TLS: is the address http:/,
    );
  });

  test('calls go through the proxy that the environment names, but not those of this machine', async () => {
    const { url, calls } = await serve(() => ({ body: '{"through":"proxy"}' }));
    const program = `
    const [url, room] = process.argv.slice(1);
    const { createHttpClient } = await import(room + '/http.ts');
    const { useProxies } = await import(room + '/http.ts');
    const why = useProxies(url, process.env);
    if (why) throw new Error(why);
    const client = createHttpClient({ settings: { url, token: 'svc_a' }, userAgent: 'test' });
    console.log(JSON.stringify((await client.call({ method: 'GET', path: '/api/v1/me' })).body));`;
    const room = fileURLToPath(new URL('../../../shared/client', import.meta.url));
    const through = (at: string, env: NodeJS.ProcessEnv) =>
      runProgram([process.execPath, '--input-type=module-typescript', '-e', program, at, room], {
        env: { PATH: process.env.PATH, ...env },
      });
    expect(await through('http://antipode.test', { http_proxy: url })).toMatchObject({
      out: '{"through":"proxy"}\n',
      code: 0,
    });
    expect(calls.splice(0)).toEqual(['GET http://antipode.test/api/v1/me']);
    expect((await through(url, { HTTP_PROXY: 'http://127.0.0.1:9' })).out).toBe(
      '{"through":"proxy"}\n',
    );
    expect(calls).toEqual(['GET /api/v1/me']);
    const left = await through('http://antipode.test', {
      HTTP_PROXY: url,
      NO_PROXY: 'antipode.test',
    });
    expect(left.err).toContain('no such name in DNS');
    const { port } = new URL(url);
    await open.splice(0)[0]?.close();
    const away = await through('http://antipode.test', { HTTP_PROXY: url });
    expect(away.err).toContain(
      `http://antipode.test cannot be reached through the proxy at 127.0.0.1:${port} (nothing listens there)`,
    );
  });
});

describe('login', () => {
  let served: Served;
  const folder = mkdtempSync(join(tmpdir(), 'antipode-login-'));
  const ANTIPODE_SETTINGS = join(folder, 'deep/settings.json');
  beforeAll(async () => {
    served = await openServed();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await served.close();
  });

  const login = async (
    given: readonly string[],
    answers: readonly (string | undefined)[],
    attended = true,
  ) => {
    const said = { out: '', err: '', questions: [] as (readonly [string, string | undefined])[] };
    const left = [...answers];
    const world: CommandContext = {
      given: ['login', ...given],
      environment: { ANTIPODE_SETTINGS },
      out: (text) => {
        said.out += text;
      },
      err: (text) => {
        said.err += text;
      },
      columns: 80,
      attended,
      ask: async (question, secret) => {
        said.questions.push([question, secret]);
        return left.shift();
      },
      readText: (path) => (path === '-' ? `${left.shift()}\n` : ''),
      now: () => Date.now(),
    };
    const code = await runCli(world);
    return { code, ...said };
  };

  test('nothing is written when the user cancels, or the service does not know the token', async () => {
    expect(await login([served.url], [undefined])).toMatchObject({
      code: exits.interrupted,
      err: expect.stringContaining('Nothing was written'),
    });
    const unknown = await login([served.url], ['svc_nothing']);
    expect(unknown).toMatchObject({
      code: exits.token,
      err: expect.stringContaining('token_invalid'),
    });
    expect((await login(['ftp://a.example'], [])).code).toBe(exits.usage);
    expect((await login([served.url, served.house.member.read], [])).code).toBe(exits.usage);
    expect(() => statSync(ANTIPODE_SETTINGS)).toThrow('ENOENT');
  });

  test('the token is read without echo, tried, and written for its user alone', async () => {
    const token = served.house.member.readWrite;
    const { code, out, err, questions } = await login([], [`${served.url}/`, ` ${token} `]);
    expect(code).toBe(exits.done);
    expect(questions.map(([, secret]) => secret)).toEqual([undefined, 'secret']);
    expect(err).toContain(`${served.url}/tokens/new`);
    expect(out).toContain('as member; this token can read and write');
    expect(out + err).not.toContain(token);
    expect(JSON.parse(readFileSync(ANTIPODE_SETTINGS, 'utf8'))).toEqual({ url: served.url, token });
    expect(statSync(ANTIPODE_SETTINGS).mode & 0o777).toBe(0o600);
  });

  test('without a terminal the token comes by standard input, and the known address serves', async () => {
    const token = served.house.viewer.read;
    expect(await login([], [token], false)).toMatchObject({
      code: exits.done,
      out: expect.stringContaining('this token can read\n'.slice(0, -1)),
      questions: [],
    });
    expect(JSON.parse(readFileSync(ANTIPODE_SETTINGS, 'utf8'))).toEqual({ url: served.url, token });
  });
});
