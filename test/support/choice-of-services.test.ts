import { expect, test } from 'vitest';
import { needsEngine, wayToServices } from './services-run.ts';

const noNats = 'no nats-server 2.9 or newer could be found or fetched';

test('where both binaries can be had they are taken, and no engine is asked', () => {
  expect(needsEngine({ wanted: undefined, binaryFaults: [] })).toBe(false);
  expect(wayToServices({ wanted: undefined, binaryFaults: [], engineFault: undefined })).toBe('binaries');
});

test('where one binary cannot be had but an engine answers, both come from containers', () => {
  expect(needsEngine({ wanted: undefined, binaryFaults: [noNats] })).toBe(true);
  expect(wayToServices({ wanted: undefined, binaryFaults: [noNats], engineFault: undefined })).toBe('containers');
});

test('where neither can be had, one message names what is missing and why no engine helped', () => {
  const nothing = { wanted: undefined, binaryFaults: ['there is no Postgres for this machine', noNats], engineFault: 'no socket' };
  expect(() => wayToServices(nothing)).toThrow(/no Postgres for this machine; no nats-server 2\.9.*a Docker engine answer.*no socket/);
});

test('containers can be asked for, and are then not silently replaced by binaries', () => {
  expect(wayToServices({ wanted: 'containers', binaryFaults: [], engineFault: undefined })).toBe('containers');
  expect(() => wayToServices({ wanted: 'containers', binaryFaults: [], engineFault: 'no socket' })).toThrow(
    /TEST_SERVICES=containers.*no socket/,
  );
});

test('a way that does not exist is refused', () => {
  expect(() => wayToServices({ wanted: 'docker', binaryFaults: [], engineFault: undefined })).toThrow('TEST_SERVICES is docker');
});
