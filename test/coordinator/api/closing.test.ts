import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { restServer, token } from './server.ts';

test('a request on a connection that still waits for an answer when the server ends is answered as ever', async () => {
  const begun = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const { app } = await restServer({
    execute: async () => {
      begun.resolve();
      await go.promise;
      return { body: {} };
    },
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const address = app.server.address();
  const socket = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1');
  let heard = '';
  socket.setEncoding('utf8').on('data', (piece: string) => {
    heard += piece;
  });
  const ended = once(socket, 'close');
  const ask = (path: string): boolean => socket.write(`GET /api/v1/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${token}\r\n\r\n`);
  ask('me');
  await begun.promise;
  const closed = app.close();
  // Its router knows by then that it ends.
  await expect.poll(() => app.server.listening).toBe(false);
  const arrived = once(app.server, 'request');
  ask('nowhere');
  await arrived;
  go.resolve();
  await Promise.all([closed, ended]);
  const answers = heard.split(/(?=HTTP\/1\.1 )/);
  expect(answers.map((answer) => answer.split(' ')[1])).toEqual(['200', '404']);
  for (const answer of answers) expect(answer).toMatch(/\r\nratelimit-remaining: \d+\r\nratelimit-reset: \d+\r\n/i);
});
