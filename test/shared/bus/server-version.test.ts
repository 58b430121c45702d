import { expect, test } from 'vitest';
import { isSafeServer, isWithinMachine, serverFault } from '../../../shared/bus/jetstream.ts';

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
