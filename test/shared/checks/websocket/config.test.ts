import { describe, expect, test } from 'vitest';
import type { Config } from '../../../../shared/checks/assignment.ts';
import {
  configFaults,
  defaultName,
  mergeSecrets,
  splitSecrets,
  targetFault,
} from '../../../../shared/checks/config.ts';
import { insideOf } from '../../../../shared/checks/placement.ts';
import { websocketSettings } from '../../../../shared/checks/websocket/config.ts';

describe('the target of a websocket check', () => {
  test.each([
    ['wss://shop.example/live?a=b', 'shop.example'],
    ['WSS://Shop.example', 'shop.example'],
    ['ws://bücher.example:8080/', 'bücher.example:8080'],
    ['ws://0x7f.1/', '127.0.0.1'],
    ['wss://[2001:DB8::1]/', '[2001:db8::1]'],
  ])('%s is taken, and names its monitor', (target, name) => {
    expect(targetFault('websocket', target)).toBeUndefined();
    expect(defaultName('websocket', target)).toBe(name);
  });

  test.each([
    ['', 'ws:// or wss://'],
    ['shop.example', 'ws:// or wss://'],
    ['https://shop.example/', 'ws:// or wss://'],
    ['wss:///live', 'ws:// or wss://'],
    ['wss://shop.example:0/', 'ws:// or wss://'],
    ['wss://shop.example/a b', 'blanks'],
    ['wss://ana:secret@shop.example/', 'Authorization header'],
    [`wss://${'a'.repeat(64)}.example/`, '63 between two dots'],
    ['ws://shop.example:25/', 'a port of mail'],
    ['wss://shop.example:465/', 'a port of mail'],
  ])('%j is refused, and told what would do', (target, remedy) => {
    expect(targetFault('websocket', target)).toContain(remedy);
  });

  test('inside a network is known to be there', () => {
    expect(insideOf('websocket', 'ws://[fd00::1]:8080/', {})).toMatchObject({ key: 'target' });
    expect(insideOf('websocket', 'wss://shop.example/', {})).toBeUndefined();
  });
});

describe('a websocket config', () => {
  const keys = (config: Config, target = 'wss://shop.example/') =>
    configFaults('websocket', target, config, 60).map(({ key }) => key);

  test.each([
    [{ send: 'a\\q' }, ['send']],
    [{ send: '\\xff' }, ['send']],
    [{ send: '0', encoding: 'hex' }, ['send']],
    [{ expect: '!', encoding: 'base64' }, ['expect']],
    [{ send: 'x'.repeat(4_097) }, ['send']],
    [{ subprotocol: '' }, ['subprotocol']],
    [{ subprotocol: 'a, b' }, ['subprotocol']],
    [{ headers: { Upgrade: 'h2c' } }, ['headers']],
    [{ headers: { 'SEC-WebSocket-Key': 'x' } }, ['headers']],
    [{ headers: { A: 'a\r\nB: b' } }, ['headers.A']],
    [{ headers: { A: '1', a: '2' } }, ['headers']],
    [{ secret_headers: ['X-A'] }, ['secret_headers']],
    [{ fail_on: ['slow'] }, ['fail_on']],
    [{ ip_family: 'both' }, ['ip_family']],
  ] as const)('%j is refused', (config: Config, expected) => {
    expect(keys(config)).toEqual(expected);
  });

  test.each([
    {},
    { send: null, subprotocol: null, headers: null },
    { send: '***', headers: { Authorization: '***' } },
    { send: 'ff', encoding: 'hex', subprotocol: 'graphql-transport-ws' },
  ])('%j is taken', (config: Config) => {
    expect(keys(config)).toEqual([]);
  });

  test('warns of a certificate only where there is one', () => {
    expect(keys({ tls_expires_within_days: 5 })).toEqual([]);
    expect(keys({ tls_expires_within_days: 5 }, 'ws://shop.example/')).toEqual([
      'tls_expires_within_days',
    ]);
  });

  test('keeps what is sent and what proves its sender apart', () => {
    const config = {
      send: 'login s3cret',
      headers: { Authorization: 'Bearer abcd', Origin: 'https://a.example' },
    };
    const { open, secrets } = splitSecrets('websocket', config);
    expect(open).toEqual({
      send: '***',
      headers: { Authorization: '***', Origin: 'https://a.example' },
    });
    expect(mergeSecrets('websocket', open, secrets)).toEqual(config);
    expect(websocketSettings(config).secrets).toEqual([
      'login s3cret',
      'login',
      's3cret',
      'Bearer abcd',
    ]);
    const json = '{"type":"auth","of":[{"token":"s3cret"}]}';
    expect(websocketSettings({ send: json }).secrets).toEqual([json, 'auth', 's3cret']);
  });
});
