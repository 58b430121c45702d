import { describe, expect, test } from 'vitest';
import type { Config } from '../../../../shared/checks/assignment.ts';
import {
  configFaults,
  defaultName,
  mergeSecrets,
  splitSecrets,
  targetFault,
} from '../../../../shared/checks/config.ts';
import { hostAndPort } from '../../../../shared/checks/connection/config.ts';
import { bytesOf } from '../../../../shared/checks/connection/payload.ts';
import { tcpSettings } from '../../../../shared/checks/tcp/config.ts';

describe('a port of mail', () => {
  test.each([25, 465, 587, 2525])('%d gets no words of ours', (port) => {
    expect(targetFault('https', `http://mail.example:${port}/`)).toContain('a port of mail');
    const target = `mail.example:${port}`;
    const faultsOf = (config: Config) =>
      configFaults('tcp', target, config, 60).map(({ key }) => key);
    expect(faultsOf({ send: 'MAIL FROM:<a@b.example>' })).toEqual(['send']);
    expect(faultsOf({ banner: 'smtp' })).toEqual([]);
    expect(targetFault('tcp', target)).toBeUndefined();
  });
});

describe('a target with a port', () => {
  test.each([
    ['db.example.com:5432', 'db.example.com', 5_432],
    ['tcp://db.example.com:5432', 'db.example.com', 5_432],
    ['TCP://DB.example.com:05432', 'db.example.com', 5_432],
    ['my_host.example:1', 'my_host.example', 1],
    ['db.example.com.:80', 'db.example.com.', 80],
    ['bücher.example:443', 'xn--bcher-kva.example', 443],
    ['192.0.2.7:65535', '192.0.2.7', 65_535],
    ['0x7f.1:80', '127.0.0.1', 80],
    ['[2001:DB8:0::1]:6379', '2001:db8::1', 6_379],
    ['[::ffff:127.0.0.1]:1', '::ffff:7f00:1', 1],
  ])('%s', (target, host, port) => {
    expect(targetFault('tcp', target)).toBeUndefined();
    expect(hostAndPort('tcp', target)).toEqual({ host, port });
  });

  test.each([
    ['', 'a host and a port'],
    ['db.example.com', 'a host and a port'],
    ['db.example.com:', 'a host and a port'],
    ['db.example.com:0', 'from 1 to 65535'],
    ['db.example.com:65536', 'from 1 to 65535'],
    ['db.example.com:5432/path', 'a host and a port'],
    ['user@db.example.com:5432', 'a host and a port'],
    ['db.example.com:5432?x', 'a host and a port'],
    ['https://db.example.com:443', 'not an address with https://'],
    ['tls://db.example.com:443', 'not an address with tls://'],
    ['2001:db8::1:443', 'in brackets'],
    ['2001:db8::1', 'in brackets'],
    ['[2001:db8::1]', 'a host and a port'],
    ['[2001:db8::zz]:443', 'a host and a port'],
    ['db example.com:5432', 'blanks'],
    ['db.example.com:5432\n', 'blanks'],
    [`${'a'.repeat(64)}.example:80`, 'a host and a port'],
    [':5432', 'a host and a port'],
  ])('%j is refused, and told what would do', (target, remedy) => {
    expect(hostAndPort('tcp', target)).toBeUndefined();
    expect(targetFault('tcp', target)).toContain(remedy);
  });

  test('names a monitor as people write it', () => {
    expect(defaultName('tcp', 'tcp://bücher.example:5432')).toBe('bücher.example:5432');
    expect(defaultName('tls', '[2001:db8::1]:443')).toBe('[2001:db8::1]:443');
  });
});

describe('a tcp config', () => {
  const keys = (config: Config, target = 'db.example.com:5432') =>
    configFaults('tcp', target, config, 60).map(({ key }) => key);

  test('reads what is sent and expected as text with escapes, as hex or as base64', () => {
    for (const [text, encoding, hex] of [
      ['PING\\r\\n', 'text', '50494e470d0a'],
      ['a\\\\b\\t\\0\\xfF', 'text', '615c620900ff'],
      ['ü\r\n', 'text', 'c3bc0d0a'],
      ['00 0d0A', 'hex', '000d0a'],
      ['AA0K', 'base64', '000d0a'],
      ['AA0=', 'base64', '000d'],
    ] as const)
      expect([text, bytesOf(text, encoding)?.toString('hex')]).toEqual([text, hex]);
  });

  test.each([
    [{ send: 'C:\\temp\\q' }, ['send']],
    [{ send: 'a\\' }, ['send']],
    [{ expect: '\\x1' }, ['expect']],
    [{ send: '0d0', encoding: 'hex' }, ['send']],
    [{ expect: 'zz', encoding: 'hex' }, ['expect']],
    [{ send: '!', encoding: 'base64' }, ['send']],
    [{ send: '' }, ['send']],
    [{ send: 'x'.repeat(4_097) }, ['send']],
    [{ banner: 'http' }, ['banner']],
    [{ tls: 'ssh' }, ['tls']],
    [{ tls: 'smtp', banner: 'imap' }, ['banner']],
    [{ server_name: 'a.example' }, ['server_name']],
    [{ tls: 'implicit', server_name: 'https://a.example' }, ['server_name']],
    [{ tls_expires_within_days: 5 }, ['tls_expires_within_days']],
    [{ fail_on: ['slow'] }, ['fail_on']],
    [{ warn: { response_ms: 20_000 } }, ['warn']],
  ] as const)('%j is refused', (config: Config, expected) => {
    expect(keys(config)).toEqual(expected);
  });

  test.each([
    {},
    { send: null, expect: null, tls: null, banner: null },
    { tls: 'smtp', banner: 'smtp' },
    { tls: 'implicit', banner: 'redis', server_name: 'bücher.example' },
    { send: '***', encoding: 'hex' },
  ])('%j is taken', (config: Config) => {
    expect(keys(config)).toEqual([]);
  });

  test('sends nothing of its own to a port where mail is delivered', () => {
    expect(keys({ send: 'EHLO x' }, 'mail.example.com:25')).toEqual(['send']);
    expect(keys({ banner: 'smtp' }, 'mail.example.com:25')).toEqual([]);
  });

  test('keeps what is sent apart, as it may log in', () => {
    const config = { send: 'AUTH s3cret\\r\\n', expect: '+OK' };
    const { open, secrets } = splitSecrets('tcp', config);
    expect(open).toEqual({ send: '***', expect: '+OK' });
    expect(mergeSecrets('tcp', open, secrets)).toEqual(config);
    expect(tcpSettings(config).secrets).toEqual(['AUTH s3cret\r\n', 'AUTH', 's3cret']);
  });
});
