import { describe, expect, test } from 'vitest';
import type { Config } from '../../../../shared/checks/assignment.ts';
import {
  configFaults,
  defaultName,
  mergeSecrets,
  splitSecrets,
  targetFault,
} from '../../../../shared/checks/config.ts';
import { grpcEndpoint, grpcSettings } from '../../../../shared/checks/grpc/config.ts';
import { mint } from '../../../support/certificates.ts';

describe('the target of a grpc check', () => {
  test.each([
    ['grpcs://api.example.com:443', 'api.example.com', 443, true],
    ['GRPC://API.example.com:50051', 'api.example.com', 50_051, false],
    ['api.example.com:443', 'api.example.com', 443, true],
    ['grpc://bücher.example:1', 'xn--bcher-kva.example', 1, false],
    ['grpcs://[2001:DB8::1]:443', '2001:db8::1', 443, true],
    ['[2001:DB8::1]:443', '2001:db8::1', 443, true],
  ])('%s', (target, host, port, isSecure) => {
    expect(targetFault('grpc', target)).toBeUndefined();
    expect(grpcEndpoint(target)).toEqual({ host, port, isSecure });
  });

  test.each([
    ['', 'a host and a port'],
    ['grpcs://api.example.com', 'a host and a port'],
    ['api.example.com', 'a host and a port'],
    ['grpcs://api.example.com:443/shop.v1.Checkout', 'no path'],
    ['grpcs://user@api.example.com:443', 'a host and a port'],
    ['grpc://api.example.com:0', 'from 1 to 65535'],
    ['2001:db8::1:443', 'a host and a port'],
    ['https://api.example.com:443', 'grpcs://host:port, or grpc://host:port'],
    ['dns:///api.example.com:443', 'grpcs://host:port, or grpc://host:port'],
    ['grpcs://api .example.com:443', 'blanks'],
  ])('%j is refused, and told what would do', (target, remedy) => {
    expect(grpcEndpoint(target)).toBeUndefined();
    expect(targetFault('grpc', target)).toContain(remedy);
  });

  test('names a monitor as people write it', () => {
    expect(defaultName('grpc', 'grpc://bücher.example:50051')).toBe('bücher.example:50051');
    expect(defaultName('grpc', '[2001:db8::1]:443')).toBe('[2001:db8::1]:443');
  });
});

describe('a grpc config', () => {
  const keys = (config: Config, target = 'grpcs://api.example.com:443') =>
    configFaults('grpc', target, config, 60).map(({ key }) => key);
  const minted = mint({ commonName: 'monitor' });
  const certificate = `${minted.chain}${minted.key}`;

  test.each<[Config, readonly string[]]>([
    [{ service: 'a\u0000b' }, ['service']],
    [{ service: 'x'.repeat(256) }, ['service']],
    [{ metadata: { 'x y': 'z' } }, ['metadata.x y']],
    [{ metadata: { ':path': '/' } }, ['metadata.:path']],
    [{ metadata: { 'Content-Type': 'text/html' } }, ['metadata']],
    [{ metadata: { TE: 'gzip' } }, ['metadata']],
    [{ metadata: { 'grpc-timeout': '1S' } }, ['metadata']],
    [{ metadata: { a: 'line\r\nbreak' } }, ['metadata.a']],
    [{ metadata: { a: ' blanks ' } }, ['metadata.a']],
    [{ metadata: { a: 'ü' } }, ['metadata.a']],
    [{ metadata: { a: '1', A: '2' } }, ['metadata']],
    [{ metadata: { 'trace-bin': 'no base64' } }, ['metadata.trace-bin']],
    [{ metadata: { a: '1' }, secret_metadata: ['b'] }, ['secret_metadata']],
    [{ authority: 'https://a.example' }, ['authority']],
    [{ authority: 'a.example:0' }, ['authority']],
    [{ authority: 'a b' }, ['authority']],
    [{ client_certificate: 'x' }, ['client_certificate']],
    [{ ip_family: 'both' }, ['ip_family']],
    [{ fail_on: ['slow'] }, ['fail_on']],
  ])('%j is refused', (config, expected) => {
    expect(keys(config)).toEqual(expected);
  });

  test.each<Config>([
    {},
    { service: '', metadata: {}, secret_metadata: [], authority: null },
    { service: 'shop.v1.Checkout', metadata: { 'x-tenant': 'a b', 'trace-bin': 'AAE' } },
    { metadata: { authorization: '***', 'trace-bin': '***' } },
    { authority: '[2001:db8::1]:443' },
    { authority: 'bücher.example' },
    { client_certificate: certificate },
  ])('%j is taken', (config) => {
    expect(keys(config)).toEqual([]);
  });

  test('wants nothing of TLS in the clear', () => {
    const config = { client_certificate: certificate, tls_expires_within_days: 5 };
    expect(keys(config, 'grpc://api.example.com:80')).toEqual([
      'tls_expires_within_days',
      'client_certificate',
    ]);
  });

  test('keeps metadata apart that identifies, looks secret or is named so', () => {
    const config = {
      metadata: { Authorization: 'Bearer t0ken', 'x-tenant': 'shop', 'x-mark': 'mine', a: 'b' },
      secret_metadata: ['X-Mark'],
      client_certificate: certificate,
    };
    const { open, secrets } = splitSecrets('grpc', config);
    expect(open).toEqual({
      metadata: { Authorization: '***', 'x-tenant': 'shop', 'x-mark': '***', a: 'b' },
      secret_metadata: ['X-Mark'],
      client_certificate: '***',
    });
    expect(mergeSecrets('grpc', open, secrets)).toEqual(config);
    expect(grpcSettings(config).secrets).toEqual(['Bearer t0ken', 'mine']);
  });

  test('reads an authority as URLs have it', () => {
    expect(grpcSettings({ authority: 'BÜCHER.example:8443' }).authority).toEqual({
      host: 'xn--bcher-kva.example',
      port: ':8443',
    });
    expect(grpcSettings({}).authority).toBeNull();
  });
});
