import { generateKeyPairSync } from 'node:crypto';
import { fastify } from 'fastify';
import { describe, expect, test } from 'vitest';
import { busAddressOf, busReachedAt, readConfig } from '../../coordinator/config.ts';
import { busEnvironment } from '../../deploy/local/home.ts';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { createBusIdentity } from '../../shared/bus/identity.ts';
import { isWithinMachine } from '../../shared/bus/jetstream.ts';

const whole = {
  ...busEnvironment(createBusIdentity(Date.now()), 'nats://bus.example:4222'),
  DATABASE_URL: 'postgres://antipode:hidden@db.example:5432/antipode',
  SECRET_KEY: 'k'.repeat(32),
};

test('a whole environment is a configuration', () => {
  expect(readConfig(whole)).toMatchObject({
    PORT: 8080,
    KEEP_RAW_DAYS: 7,
    NATS_URL: 'nats://bus.example:4222',
  });
});

test('an address is accepted as people type it, with or without the slash at its end', () => {
  for (const BASE_URL of [
    'https://antipode.example',
    'https://antipode.example/',
    'https://antipode.example//',
  ])
    expect(readConfig({ ...whole, BASE_URL }).BASE_URL).toBe('https://antipode.example');
});

test('all errors are reported at once, each with its name and what is valid, and no secret is repeated', () => {
  const faulty = {
    DATABASE_URL: 'postgres://antipode:hidden@db.example:port/antipode',
    SECRET_KEY: 'too short to be one',
    NATS_ACCOUNT_SEED: whole.NATS_OPERATOR_SEED,
    PORT: '70000',
    KEEP_RAW_DAYS: '0',
    BASE_URL: 'antipode.example',
    LOG_LEVEL: 'loud',
    PROBE_ANCHORS: 'here',
  };
  const { NATS_CREDENTIALS: _, ...rest } = whole;
  const read = () => readConfig({ ...rest, ...faulty });
  for (const fault of [
    'DATABASE_URL: must be postgres://user:password@host:port/database',
    'SECRET_KEY: must have at least 32 characters',
    'NATS_ACCOUNT_SEED: must be the seed of an account nkey',
    'NATS_CREDENTIALS: is not set',
    'PORT: must be at most 65535',
    'KEEP_RAW_DAYS: must be at least 1',
    'BASE_URL: must be an http:// or https:// address',
    'LOG_LEVEL: must be one of trace',
    'PROBE_ANCHORS: must be host:port',
  ])
    expect(read).toThrow(fault);
  for (const secret of ['hidden', faulty.SECRET_KEY, faulty.NATS_ACCOUNT_SEED])
    expect(read).not.toThrow(secret);
});

const faults = (environment: Readonly<Record<string, string>>): string => {
  try {
    readConfig({ ...whole, ...environment });
    return '';
  } catch (error) {
    if (error instanceof ConfigurationFault) return error.message;
    throw error;
  }
};

test('open sign-up without mail refuses to start, because sign-up verifies an address by mail', () => {
  expect(faults({ SIGN_UP: 'open' })).toContain('SIGN_UP: open needs mail');
  expect(
    faults({ SIGN_UP: 'open', SMTP_URL: 'smtp://mail.example', MAIL_FROM: 'a@shop.example' }),
  ).toBe('');
});

test('mail needs a server and a sender', () => {
  expect(faults({ SMTP_URL: 'smtp://mail.example' })).toContain(
    'SMTP_URL and MAIL_FROM belong together',
  );
  expect(faults({ SMTP_URL: 'http://mail.example', MAIL_FROM: 'nobody' })).toMatch(
    /SMTP_URL: must be.*\n.*MAIL_FROM: must be/,
  );
  expect(
    faults({ SMTP_URL: 'smtps://u:p@mail.example', MAIL_FROM: 'Antipode <antipode@shop.example>' }),
  ).toBe('');
});

test('the plan for new sign-ups must exist', () => {
  expect(faults({ SIGN_UP_PLAN: 'gold' })).toContain(
    'SIGN_UP_PLAN: must be one of free, team, business, self_hosted',
  );
});

test('a DKIM signature needs domain, selector and RSA key, all of them or none', () => {
  const key = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
  const whole = {
    MAIL_DKIM_DOMAIN: 'shop.example',
    MAIL_DKIM_SELECTOR: 'antipode',
    MAIL_DKIM_KEY: key,
  };
  expect(faults(whole)).toBe('');
  const { MAIL_DKIM_SELECTOR: _, ...part } = whole;
  expect(faults(part)).toContain(
    'MAIL_DKIM_DOMAIN, MAIL_DKIM_SELECTOR, MAIL_DKIM_KEY belong together',
  );
  const broken = faults({ ...whole, MAIL_DKIM_KEY: 'hidden words', MAIL_DKIM_DOMAIN: 'shop' });
  expect(broken).toContain('MAIL_DKIM_KEY: must be an RSA private key as PEM');
  expect(broken).toContain('MAIL_DKIM_DOMAIN: must be a domain');
  expect(broken).not.toContain('hidden');
});

test('the resolvers for domain verification are a list of addresses', () => {
  const asked = (text: string) => readConfig({ ...whole, DNS_RESOLVERS: text }).DNS_RESOLVERS;
  expect(readConfig(whole).DNS_RESOLVERS).toEqual([]);
  expect(asked('192.0.2.1, [2001:db8::1]:5353')).toEqual(['192.0.2.1', '[2001:db8::1]:5353']);
  expect(faults({ DNS_RESOLVERS: 'dns.example' })).toContain('DNS_RESOLVERS: must be addresses');
});

test('the internal ranges that messages to channels may reach are a list of addresses and ranges, and empty is empty', () => {
  const allowed = (text: string) =>
    readConfig({ ...whole, ALERT_ALLOW_CIDRS: text }).ALERT_ALLOW_CIDRS;
  expect(readConfig(whole).ALERT_ALLOW_CIDRS).toEqual([]);
  expect(allowed(' , ')).toEqual([]);
  expect(allowed('10.0.0.0/8, fd00::1')).toEqual(['10.0.0.0/8', 'fd00::1']);
  expect(faults({ ALERT_ALLOW_CIDRS: '10.0.0.0/99' })).toContain(
    'ALERT_ALLOW_CIDRS: must be addresses or CIDR ranges',
  );
});

test('the port of the metrics is never the public one', () => {
  expect(faults({ PORT: '9464', METRICS_PORT: '9464' })).toContain(
    'METRICS_PORT: is the public port',
  );
  expect(faults({ METRICS_PORT: '8080' })).toContain('METRICS_PORT');
  expect(faults({ METRICS_PORT: '9464' })).toBe('');
});

test('pages of other origins may call the API only where they are named', () => {
  const origins = (text: string) => readConfig({ ...whole, CORS_ORIGINS: text }).CORS_ORIGINS;
  expect(readConfig(whole).CORS_ORIGINS).toEqual([]);
  expect(origins('https://app.example.org, http://localhost:3000')).toEqual([
    'https://app.example.org',
    'http://localhost:3000',
  ]);
  expect(origins('*')).toEqual(['*']);
  for (const wrong of ['app.example.org', 'https://app.example.org/', 'https://app.example.org/x'])
    expect(faults({ CORS_ORIGINS: wrong }), wrong).toContain('CORS_ORIGINS: must be origins');
});

test('proxies are named by address, range or name; a slip of the pen, or everybody, does not start', () => {
  const trusted = (text: string) => readConfig({ ...whole, TRUSTED_PROXIES: text }).TRUSTED_PROXIES;
  expect(readConfig(whole).TRUSTED_PROXIES).toEqual([]);
  const every = [
    'loopback',
    'linklocal',
    'uniquelocal',
    '192.0.2.7',
    '10.0.0.0/8',
    '2001:db8::/32',
    '::1',
    '::ffff:10.0.0.0/104',
  ];
  expect(trusted(every.join(' , '))).toEqual(every);
  // What is taken here is taken by the server, too.
  expect(() => fastify({ trustProxy: every })).not.toThrow();
  for (const wrong of [
    'localhost',
    'proxy.example',
    '10.0.0.0/33',
    '10.0.0.0/',
    'true',
    '1',
    'loopback 10.0.0.1',
  ])
    expect(faults({ TRUSTED_PROXIES: wrong }), wrong).toContain(
      'TRUSTED_PROXIES: must be the addresses or CIDR ranges of your proxies, or loopback, linklocal, uniquelocal, several with commas',
    );
  for (const everybody of ['0.0.0.0/0', '::/0', '::ffff:0:0/96', 'loopback,0.0.0.0/0'])
    expect(faults({ TRUSTED_PROXIES: everybody }), everybody).toContain(
      'TRUSTED_PROXIES: must not be everyone (/0)',
    );
});

describe('where the bus is reached', () => {
  const own = 'nats://127.0.0.1:4222';
  const of = (HOST: string, websocket?: string, named?: string) => ({
    HOST,
    NATS_URL: own,
    NATS_WEBSOCKET_URL: websocket === undefined ? [] : [new URL(websocket)],
    NATS_PUBLIC_URL: named,
  });

  test.each([
    [of('127.0.0.1'), own],
    [of('127.0.0.1', 'ws://127.0.0.1:4223'), 'wss://antipode.example/bus'],
    [of('127.0.0.1', 'ws://127.0.0.1:4223', 'tls://bus.example:443'), 'tls://bus.example:443'],
  ])(
    'by probes: at the address that is named, else at our own where it has websockets',
    (config, address) => {
      expect(busAddressOf(config, 'https://antipode.example')).toBe(address);
    },
  );

  test('by whoever reaches this coordinator, where it passes websockets on', () => {
    const local = 'http://127.0.0.1:8080';
    const by = (HOST: string, websocket?: string) =>
      isWithinMachine(busReachedAt(of(HOST, websocket), local));
    expect(by('127.0.0.1', 'ws://127.0.0.1:4223')).toBe(true);
    expect(by('0.0.0.0')).toBe(true);
    expect(by('0.0.0.0', 'ws://127.0.0.1:4223')).toBe(false);
    expect(by('::', 'ws://127.0.0.1:4223')).toBe(false);
  });
});
