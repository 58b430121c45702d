import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { restServer } from './server.ts';

/** What a server says to such bytes, until it says no more. */
const answerTo = (port: number, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let heard = '';
    socket.setEncoding('utf8').on('data', (piece: string) => {
      heard += piece;
      if (heard.includes('}}')) socket.end();
    });
    socket.on('close', () => resolve(heard)).on('error', reject);
  });

test('what Node itself refuses carries the error body too', async () => {
  const { app } = await restServer();
  await app.listen({ port: 0, host: '127.0.0.1' });
  const address = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  for (const [bytes, status, code, words] of [
    ['GET /api/v1/me HTTP/1.1\r\n\r\n', 400, 'request_malformed', 'Host is missing'],
    ['POST /api/v1/groups HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n{}', 417, 'request_malformed', '100-continue'],
    ['CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n', 400, 'request_malformed', 'no proxy'],
    ['GET /api/v1/me HTTP/9.9\r\nHost: x\r\n\r\n', 400, 'request_malformed', 'could not be read'],
    [`GET /api/v1/me HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large', '16 KiB'],
  ] as const) {
    const heard = await answerTo(port, bytes);
    const body = heard.slice(heard.indexOf('{"error"'), heard.lastIndexOf('}}') + 2);
    expect(heard.split(' ')[1], bytes.slice(0, 40)).toBe(String(status));
    expect(heard, bytes.slice(0, 40)).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/i);
    // A request without a host is the only one of these that the application was asked at all, and that counts.
    const left = words === 'Host is missing' ? 119 : 120;
    expect(heard.toLowerCase(), bytes.slice(0, 40)).toContain(`\r\nratelimit-remaining: ${left}\r\n`);
    expect(heard, bytes.slice(0, 40)).toMatch(/\r\nratelimit-reset: \d+\r\n/i);
    expect(JSON.parse(body), bytes.slice(0, 40)).toEqual({ error: { code, message: expect.stringContaining(words) } });
  }
  await app.close();
});
