import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { FastifyHttpOptions, FastifyInstance, InjectOptions } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { Refusal } from '../../../shared/base/errors.ts';
import { closed } from '../../support/connections.ts';
import { type Over, restServer, token } from './server.ts';

const open: FastifyInstance[] = [];
afterEach(async () => {
  for (const app of open.splice(0)) await app.close();
});

const start = async (over: Over = {}, options: FastifyHttpOptions<Server> = {}) => {
  const server = await restServer(over, options);
  open.push(server.app);
  return server;
};

const ask = async (options: InjectOptions, over: Over = {}) => {
  const { app } = await start(over);
  return app.inject({ ...options, headers: { authorization: token, ...options.headers } });
};

/** The server of HTTP looks for requests that are overdue every half minute. */
const quick = { connectionsCheckingInterval: 50, headersTimeout: 100, requestTimeout: 100 };
const id = '019a9c12-8d3a-7c61-b4e0-5f7a9c2d1b44';
const jsonBody = { 'content-type': 'application/json' };
const rest = ['ratelimit-remaining', 'ratelimit-reset'] as const;
const codeOf = (response: { json: () => { error: { code: string } } }) =>
  response.json().error.code;

/**
 * Sends bytes over a real connection and gives back all that comes, for what no client library
 * would send.
 */
const talk = async (app: FastifyInstance, bytes: string | Buffer): Promise<string> => {
  const address = app.server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server is not listening on a port');
  const socket = connect(address.port, '127.0.0.1');
  let heard = '';
  socket.setEncoding('utf8').on('data', (text) => {
    heard += text;
  });
  socket.on('error', () => socket.destroy());
  socket.write(bytes);
  await closed(socket);
  return heard;
};

describe('Answers of the REST API', () => {
  it('asks for a token, and challenges by the scheme alone, whatever was wrong with one', async () => {
    const { app } = await start();
    const without = await app.inject('/api/v1/me');
    expect([without.statusCode, codeOf(without), without.headers['www-authenticate']]).toEqual([
      401,
      'token_missing',
      'Bearer',
    ]);
    const wrong = await app.inject({ url: '/api/v1/me', headers: { authorization: 'Bearer x' } });
    expect([wrong.statusCode, codeOf(wrong), wrong.headers['www-authenticate']]).toEqual([
      401,
      'token_invalid',
      'Bearer',
    ]);
  });

  it('reads no body without a valid token', async () => {
    const { app } = await start();
    const response = await app.inject({
      method: 'POST',
      url: '/api/v1/monitors',
      headers: jsonBody,
      payload: '{',
    });
    expect(response.statusCode).toBe(401);
  });

  it('sends the rate limit on every answer to a valid token, whatever the answer', async () => {
    const { app } = await start();
    const urls: InjectOptions[] = [
      { url: '/api/v1/me' },
      { url: '/api/v1/monitors?limit=x' },
      { url: '/api/v1/nowhere' },
      { method: 'PUT', url: '/api/v1/me' },
      { method: 'DELETE', url: `/api/v1/monitors/${id}` },
      { method: 'POST', url: '/api/v1/monitors', payload: 'x'.repeat(70_000), headers: jsonBody },
      { method: 'POST', url: '/api/v1/monitors', payload: '{', headers: jsonBody },
    ];
    for (const url of urls) {
      const response = await app.inject({
        ...url,
        headers: { authorization: token, ...url.headers },
      });
      expect([url.url, ...rest.map((name) => response.headers[name])]).toEqual([
        url.url,
        '119',
        '60',
      ]);
    }
  });

  it('refuses beyond the rate with Retry-After equal to the reset, and does nothing', async () => {
    const response = await ask(
      { url: '/api/v1/me' },
      {
        limiter: { count: () => ({ allowed: false, remaining: 0, reset: 17 }) },
        execute: () => Promise.reject(new Error('must not run')),
      },
    );
    expect([response.statusCode, codeOf(response)]).toEqual([429, 'rate_limited']);
    expect(['retry-after', ...rest].map((name) => response.headers[name])).toEqual([
      '17',
      '0',
      '17',
    ]);
  });

  it('counts calls without a valid token against the address', async () => {
    const counted: string[] = [];
    const limiter = {
      count: (subject: string) => {
        counted.push(subject);
        return { allowed: counted.length < 2, remaining: 0, reset: 9 };
      },
    };
    const { app } = await start({ limiter });
    expect((await app.inject('/api/v1/me')).statusCode).toBe(401);
    expect((await app.inject('/api/v1/me')).statusCode).toBe(429);
    expect(counted).toEqual(['address:127.0.0.1', 'address:127.0.0.1']);
  });

  it('reads whole numbers of any size without losing a digit, and echoes them so', async () => {
    const digits = '12345678901234567891';
    const send = (payload: string) =>
      ask({ method: 'POST', url: '/api/v1/monitors', headers: jsonBody, payload });
    const response = await send(
      `{"type":${digits},"name":-${digits},"affects_group_status":9007199254740993}`,
    );
    expect(response.statusCode).toBe(422);
    expect(response.body).toContain(
      `"loc":["body","type"],"msg":"Input should be a valid string","input":${digits}}`,
    );
    expect(response.body).toContain(`"input":-${digits}}`);
    expect(response.body).toContain(`"input":9007199254740993}`);
    const ids = await ask({
      method: 'POST',
      url: '/api/v1/maintenance',
      headers: jsonBody,
      payload: `{"starts_at":${digits},"ends_at":1,"monitors":[${digits}]}`,
    });
    expect(ids.statusCode).toBe(422);
    expect(ids.body).toContain('dates after 9999 are not supported');
    expect((await send(`{"type":"x","interval_s":${'9'.repeat(4300)}}`)).statusCode).toBe(201);
    const beyond = await send(`{"type":"x","interval_s":${'9'.repeat(4301)}}`);
    expect([beyond.statusCode, codeOf(beyond)]).toEqual([400, 'request_malformed']);
  });

  it('echoes a text that is no JSON as it came, a byte order mark with it', async () => {
    const response = await ask({
      method: 'POST',
      url: '/api/v1/groups',
      payload: '\ufeff{}',
      headers: { 'content-type': 'text/plain' },
    });
    expect(response.json()).toMatchObject({
      detail: [{ type: 'model_attributes_type', loc: ['body'], input: '\ufeff{}' }],
    });
  });

  it('takes a slash that came as %2F neither for a part of an id nor for a way to another route', async () => {
    for (const [method, path] of [
      ['GET', '/monitors/a%2Fb'],
      ['GET', `/monitors/${id}%2fstatus`],
      ['PUT', '/monitors/a%2Fb'],
      ['DELETE', `/status-pages/${id}%2Fmonitors/${id}`],
    ] as const) {
      const response = await ask({ method, url: `/api/v1${path}` });
      expect([path, response.statusCode, codeOf(response)]).toEqual([path, 404, 'route_not_found']);
    }
  });

  it('gives up on a body that stalls', async () => {
    const { app } = await start({}, { requestTimeout: 100, http: quick });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const head = `POST /api/v1/groups HTTP/1.1\r\nHost: a\r\nAuthorization: ${token}\r\nContent-Type: application/json\r\n`;
    expect(await talk(app, `${head}Content-Length: 50\r\n\r\n{"name":`)).toMatch(
      /^HTTP\/1.1 408 .*request_malformed/s,
    );
  });

  it('answers a method that HTTP itself does not know as any other wrong method', async () => {
    const { app } = await start();
    await app.listen({ port: 0, host: '127.0.0.1' });
    const first = (method: string, path: string) =>
      talk(app, `${method} ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`);
    for (const method of ['FOO', 'get', 'X-Y']) {
      const heard = await first(method, '/api/v1/monitors?limit=1');
      expect(heard, method).toMatch(
        /^HTTP\/1.1 405 Method Not Allowed\r\n.*\r\nAllow: GET, HEAD, POST\r\n.*"code":"method_not_allowed"/s,
      );
    }
    expect(await first('FOO', '/api/v1/nowhere')).toMatch(/^HTTP\/1.1 404 .*route_not_found/s);
    expect(await talk(app, 'FOO\r\n\r\n')).toMatch(/^HTTP\/1.1 400 .*request_malformed/s);
    expect(await talk(app, '\u0016\u0003\u0001 / HTTP/1.1\r\n\r\n')).toMatch(
      /^HTTP\/1.1 400 .*request_malformed/s,
    );
  });

  it('names the methods of a known path, and knows no other path', async () => {
    const wrong = await ask({ method: 'PUT', url: `/api/v1/monitors/${id}` });
    expect([wrong.statusCode, codeOf(wrong), wrong.headers.allow]).toEqual([
      405,
      'method_not_allowed',
      'GET, HEAD, PATCH, DELETE',
    ]);
    // What has a name of its own where others have an id is no id: its methods are its own.
    for (const [method, path, allow] of [
      ['GET', 'monitors/batch', 'POST'],
      ['PATCH', 'monitors/batch', 'POST'],
      ['OPTIONS', 'monitors/batch', 'POST'],
      ['DELETE', 'maintenance/preview', 'GET, HEAD'],
    ] as const) {
      const one = await ask({ method, url: `/api/v1/${path}` });
      expect([method, one.statusCode, codeOf(one), one.headers.allow]).toEqual([
        method,
        405,
        'method_not_allowed',
        allow,
      ]);
    }
    const { app } = await start();
    await app.listen({ port: 0, host: '127.0.0.1' });
    const body = '{"a":1}';
    for (const method of ['QUERY', 'PROPFIND', 'LOCK']) {
      const heard = await talk(
        app,
        `${method} /api/v1/monitors HTTP/1.1\r\nHost: a\r\nAuthorization: ${token}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
      expect(heard, method).toMatch(
        /^HTTP\/1.1 405 .*allow: GET, HEAD, POST.*method_not_allowed/is,
      );
      expect(heard, method).toMatch(/ratelimit-remaining: \d/i);
    }
    for (const url of [
      '/api/v1/nowhere',
      '/api/v1',
      '/api/v1/monitors/',
      '/api/v1/me/x',
      '/api/v1/%zz',
      '/api/v1/monitors/a/b/c',
    ]) {
      const response = await ask({ url });
      expect([url, response.statusCode, codeOf(response)]).toEqual([url, 404, 'route_not_found']);
    }
  });

  it('judges an id however long or badly encoded it is', async () => {
    for (const [sent, read] of [
      ['%zz', '%zz'],
      ['%ff', '\ufffd'],
      ['%', '%'],
      ['%C3%A9', 'é'],
      ['%E0%A4%A', '\ufffd%A'],
      ['a'.repeat(5000), 'a'.repeat(5000)],
    ] as const) {
      const response = await ask({ method: 'DELETE', url: `/api/v1/monitors/${sent}` });
      expect([sent, response.statusCode]).toEqual([sent, 422]);
      expect(response.json().detail[0]).toMatchObject({
        type: 'uuid_parsing',
        loc: ['path', 'monitor_id'],
        input: read,
      });
    }
  });

  it('takes a DELETE with a JSON content type and no body, or any body', async () => {
    for (const payload of ['', '{', '{}']) {
      const response = await ask({
        method: 'DELETE',
        url: `/api/v1/monitors/${id}`,
        headers: jsonBody,
        payload,
      });
      expect([response.statusCode, response.body]).toEqual([204, '']);
    }
  });

  it('refuses what is too large, too deep or no UTF-8, without a fault of its own', async () => {
    const post = (payload: string | Buffer) =>
      ask({ method: 'POST', url: '/api/v1/monitors', headers: jsonBody, payload });
    const large = await post(`{"type":"${'x'.repeat(64 * 1024)}"}`);
    expect([large.statusCode, codeOf(large)]).toEqual([413, 'body_too_large']);
    const deep = await post(`{"type":"x","config":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`);
    expect([deep.statusCode, codeOf(deep)]).toEqual([400, 'request_malformed']);
    expect((await post('['.repeat(60_000))).statusCode).toBe(400);
    const broken = await post(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]));
    expect([broken.statusCode, codeOf(broken)]).toEqual([400, 'request_malformed']);
    const half = await post('{"type":"x","name":"\\ud800"}');
    expect([half.statusCode, half.json().detail[0].type]).toEqual([422, 'string_unicode']);
    const brackets = await post(`{"type":"${'['.repeat(5000)}"}`);
    expect(brackets.statusCode).toBe(201);
  });

  it('says nothing of what went wrong inside, and writes it to the log under the id it names', async () => {
    const { app, logged } = await start({
      execute: () => Promise.reject(new Error('relation "tokens" is on fire')),
    });
    const response = await app.inject({ url: '/api/v1/me', headers: { authorization: token } });
    expect([response.statusCode, codeOf(response)]).toEqual([500, 'internal']);
    expect(response.body).not.toContain('fire');
    expect(response.body).toContain(String(response.headers['x-request-id']));
    expect(logged).toEqual([
      expect.objectContaining({ request_id: response.headers['x-request-id'] }),
    ]);
  });

  it('gives every kind of refusal its status', async () => {
    for (const [code, status] of [
      ['scope_insufficient', 403],
      ['plan_limit_monitors', 403],
      ['monitor_not_found', 404],
      ['config_invalid', 400],
      ['already_published', 409],
    ] as const) {
      const response = await ask(
        { url: '/api/v1/me' },
        { execute: () => Promise.reject(new Refusal(code, 'no')) },
      );
      expect([response.statusCode, response.json()]).toEqual([
        status,
        { error: { code, message: 'no' } },
      ]);
    }
  });

  it('answers a flood of headers with 431 and what is no HTTP with 400, in the shape of every refusal', async () => {
    const { app } = await start();
    await app.listen({ port: 0, host: '127.0.0.1' });
    const flood = `GET /api/v1/me HTTP/1.1\r\nHost: x\r\n${`X-Flood: ${'f'.repeat(1000)}\r\n`.repeat(30)}\r\n`;
    const flooded = await talk(app, flood);
    expect(flooded).toMatch(/^HTTP\/1\.1 431 /);
    expect(flooded).toContain('"headers_too_large"');
    for (const nonsense of [
      '\r\n\r\n\0\0\0\r\n\r\n',
      'GET /api/v1/me HTTP/9.9\r\n\r\n',
      'POST /api/v1/monitors HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n',
      Buffer.from('GET /api/v1/incidents?state=\xff HTTP/1.1\r\nHost: x\r\n\r\n', 'latin1'),
    ]) {
      const heard = await talk(app, nonsense);
      expect(heard).toMatch(/^HTTP\/1\.1 400 /);
      expect(heard).toContain('"request_malformed"');
    }
  });

  it('gives the document and its page to everybody, and to a wrong token, too', async () => {
    const { app } = await start();
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: token }]) {
      const document = await app.inject({ url: '/api/v1/openapi.json', headers });
      expect([document.statusCode, document.json().info.version]).toEqual([200, '1.1.9']);
      const page = await app.inject({ url: '/api/v1/docs', headers });
      expect([page.statusCode, page.headers['content-type']]).toEqual([
        200,
        'text/html; charset=utf-8',
      ]);
    }
    const answered = async (method: 'GET' | 'POST', url: string) => {
      const { statusCode, body } = await app.inject({ method, url });
      return [statusCode, /<title>([^<]*)|"code":"(\w+)/.exec(body)?.slice(1).join('')];
    };
    expect(await answered('GET', '/api/v1/docs/createMonitor')).toEqual([
      200,
      'Create a monitor · Antipode API',
    ]);
    expect(await answered('GET', '/api/v1/docs?q=ping+key')).toEqual([
      200,
      'Search of the Antipode API',
    ]);
    expect(await answered('GET', '/api/v1/docs/nothing')).toEqual([404, 'route_not_found']);
    expect(await answered('POST', '/api/v1/docs/createMonitor')).toEqual([
      405,
      'method_not_allowed',
    ]);
    for (const method of ['GET', 'HEAD'] as const) {
      const led = await app.inject({ method, url: '/api/v1/docs/' });
      expect([led.statusCode, led.headers.location]).toEqual([308, '/api/v1/docs']);
      expect(led.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    }
    const wrong = await app.inject({ method: 'POST', url: '/api/v1/openapi.json' });
    expect([wrong.statusCode, wrong.headers.allow]).toEqual([405, 'GET, HEAD']);
  });
});
