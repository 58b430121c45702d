import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { createLog } from '../../../shared/base/log.ts';
import { createBusIdentity } from '../../../shared/bus/identity.ts';
import { isSafeServer, isWithinMachine, serverFault, whyTooOld } from '../../../shared/bus/jetstream.ts';
import { connectBus, enterOnce, TooOld } from '../../../shared/bus/nats.ts';
import { eventually } from '../../support/eventually.ts';

test.each([
  ['2.9.10', false],
  ['2.10.27', false],
  ['2.11.14', false],
  ['2.11.15', true],
  ['2.12.5', false],
  ['2.12.6', true],
  ['2.12.10-RC.1', true],
  ['2.13.0', true],
  ['3.0.0', true],
  ['', false],
  ['latest', false],
])('nats-server %s is safe: %s', (version, isSafe) => {
  expect(isSafeServer(version)).toBe(isSafe);
});

test('an old server is refused where others than this machine reach it, and says what would do', () => {
  expect(isWithinMachine(['nats://127.0.0.1:4222', 'tls://localhost,tls://[::1]:443'])).toBe(true);
  expect(isWithinMachine(['nats://127.0.0.1:4222,nats://10.0.0.1:4222'])).toBe(false);
  expect(serverFault('2.10.27', ['nats://127.0.0.1:4222'])).toBeUndefined();
  expect(serverFault('2.12.6', ['tls://bus.example'])).toBeUndefined();
  expect(serverFault('2.10.27', ['nats://127.0.0.1:4222', 'tls://bus.example'])).toContain('must be 2.11.15 or 2.12.6 or newer');
});

test.each([
  ['1.4.1', true],
  ['2.9.10', true],
  ['2.10.0', false],
  ['2.12.10-RC.1', false],
  ['3.0.0', false],
  ['latest', false],
])('nats-server %s is too old to be used at all: %s', (version, isOld) => {
  expect(whyTooOld(version) !== undefined).toBe(isOld);
});

/** Greets as a nats-server of this version, and lets everyone in. */
const startServerOf = async (version: string) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(`INFO ${JSON.stringify({ server_id: 'S', version, proto: 1, headers: true, max_payload: 1_048_576, nonce: 'n' })}\r\n`);
    socket.on('data', (data) => {
      if (data.toString('latin1').includes('PING')) socket.write('PONG\r\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no address');
  return { url: `nats://127.0.0.1:${address.port}`, close: () => void server.close() };
};

test('a server before 2.10 is refused in words, by those who try once and by those who go on trying', async () => {
  const credentials = createBusIdentity(Date.now()).coordinatorCredentials;
  const [old, usable] = [await startServerOf('2.9.10'), await startServerOf('2.10.0')];
  await enterOnce({ url: usable.url, credentials });
  await expect(enterOnce({ url: old.url, credentials })).rejects.toThrow(TooOld);
  let lines = '';
  const log = createLog(
    { name: 'test', level: 'info' },
    {
      write: (line) => {
        lines += line;
      },
    },
  );
  const leaving = new AbortController();
  const came = connectBus({ url: old.url, credentials, name: 'test', log, signal: leaving.signal });
  await eventually(async () => lines.includes('nats-server 2.9.10 is too old, it must be 2.10 or newer'));
  leaving.abort(new Error('enough'));
  await expect(came).rejects.toThrow('enough');
  old.close();
  usable.close();
});
