import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { freePort, obstacleTo } from '../../../deploy/local/home.ts';

const open: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

const listenAt = async (port: number): Promise<void> => {
  const server = createServer().listen(port, '127.0.0.1');
  open.push(server);
  await once(server, 'listening');
};

test('a port that another program has is told as taken', async () => {
  const port = await freePort();
  await listenAt(port);
  expect(await obstacleTo(port, '127.0.0.1')).toMatch(new RegExp(`^port ${port} is taken: choose another`));
  expect(await freePort(port)).not.toBe(port);
});

test.each(['192.0.2.1', '999.1.1.1'])('an address that this machine does not have is not told as a taken port: %s', async (host) => {
  for (const port of [0, await freePort()])
    expect(await obstacleTo(port, host)).toMatch(new RegExp(`^HOST=${host} is no address of this machine`));
});

test('nothing stands in the way of a free port, or of any', async () => {
  expect(await obstacleTo(await freePort(), '127.0.0.1')).toBeUndefined();
  expect(await obstacleTo(0, '0.0.0.0')).toBeUndefined();
});
