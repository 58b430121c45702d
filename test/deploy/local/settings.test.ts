import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  busEnvironment,
  probesEnvironment,
  readSettings,
  signUpEnvironment,
} from '../../../deploy/local/home.ts';
import { createBusIdentity } from '../../../shared/bus/identity.ts';

const bus = busEnvironment(createBusIdentity(Date.now()), 'nats://bus.example:4222');

test('nothing set means the embedded parts on port 8080', () => {
  expect(readSettings({})).toMatchObject({
    port: 8080,
    host: '127.0.0.1',
    databaseUrl: undefined,
    bus: undefined,
  });
});

test('a bus of one’s own is taken whole', () => {
  expect(readSettings(bus).bus).toEqual(bus);
});

test('a bus that is described by halves is refused, and what is missing is named', () => {
  const { NATS_OPERATOR_SEED: _, NATS_CREDENTIALS: __, ...half } = bus;
  expect(() => readSettings(half)).toThrow(
    'NATS_CREDENTIALS, NATS_OPERATOR_SEED are not: set all of them',
  );
});

test('credentials without a bus are refused too', () => {
  expect(() => readSettings({ NATS_CREDENTIALS: bus.NATS_CREDENTIALS })).toThrow(
    'NATS_CREDENTIALS set, but NATS_URL',
  );
});

test('a secret may come from a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'antipode-settings-'));
  try {
    const file = join(folder, 'seed');
    await writeFile(file, `${bus.NATS_ACCOUNT_SEED}\n`);
    const { NATS_ACCOUNT_SEED: _, ...rest } = bus;
    expect(readSettings({ ...rest, NATS_ACCOUNT_SEED_FILE: file }).bus?.NATS_ACCOUNT_SEED).toBe(
      bus.NATS_ACCOUNT_SEED,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('an invalid port and an invalid database are both named at once', () => {
  expect(() => readSettings({ PORT: '99999', DATABASE_URL: 'mysql://x' })).toThrow(
    /PORT[\s\S]*DATABASE_URL/,
  );
});

test('a bad port does not hide an incomplete bus: every error is reported at once, with what to do', () => {
  const read = () =>
    readSettings({
      PORT: 'many',
      NATS_URL: bus.NATS_URL,
      DATABASE_URL: 'postgres://u:hidden@host:x/y',
      SECRET_KEY: 'short',
    });
  expect(read).toThrow(/PORT: must be a whole number/);
  expect(read).toThrow(/NATS_URL set, but NATS_CREDENTIALS.*are not: set all of them/);
  expect(read).toThrow(/DATABASE_URL: must be postgres:\/\/user:password@host:port\/database/);
  expect(read).toThrow(/SECRET_KEY: must have at least 32 characters/);
  expect(read).not.toThrow(/hidden/);
});

test('a number that is too large is refused with its limit', () => {
  expect(() => readSettings({ PORT: '99999' })).toThrow('PORT: must be at most 65535');
  expect(() => readSettings({ BASE_URL: 'example' })).toThrow(
    'BASE_URL: must be an http:// or https:// address',
  );
});

test('several hosts, and a socket in place of a host, are addresses of a Postgres too', () => {
  for (const url of ['postgres://u:p@a:5432,b:5433/d', 'postgresql://u@/d?host=/run/postgresql'])
    expect(readSettings({ DATABASE_URL: url }).databaseUrl).toBe(url);
});

test('a mistyped seed is reported by its name, and not repeated', () => {
  // Not the last letter: two of its bits carry nothing, and A and B there are the same seed.
  const mistyped = bus.NATS_OPERATOR_SEED.replace(/.(?=.$)/, (letter) =>
    letter === 'A' ? 'B' : 'A',
  );
  const read = () =>
    readSettings({
      ...bus,
      NATS_OPERATOR_SEED: mistyped,
      NATS_ACCOUNT_SEED: bus.NATS_OPERATOR_SEED,
    });
  expect(read).toThrow(
    /NATS_OPERATOR_SEED: is not a seed of an operator: its checksum does not fit/,
  );
  expect(read).toThrow(/NATS_ACCOUNT_SEED: must be the seed of an account/);
  expect(read).not.toThrow(mistyped);
});

test('credentials that lost their line breaks are reported by their name, with the way that keeps them', () => {
  const read = () =>
    readSettings({ ...bus, NATS_CREDENTIALS: bus.NATS_CREDENTIALS.replaceAll('\n', '\\n') });
  expect(read).toThrow(
    /NATS_CREDENTIALS: is not the text of a NATS credentials file as it was written.*_FILE/,
  );
});

test('messages reach networks of one’s own, unless it was said otherwise or anybody may sign up', () => {
  const allowed = (set: Record<string, string>) =>
    signUpEnvironment(set, readSettings(set)).ALERT_ALLOW_CIDRS;
  expect(allowed({})).toContain('127.0.0.0/8');
  expect(allowed({ SIGN_UP: 'open' })).toBeUndefined();
  expect(allowed({ ALERT_ALLOW_CIDRS: '' })).toBe('');
  expect(allowed({ SIGN_UP: 'open', ALERT_ALLOW_CIDRS: '192.168.7.9' })).toBe('192.168.7.9');
});

test('with open sign-up, probes on this machine reach public addresses only, unless their owner says otherwise', () => {
  expect(readSettings({}).allowCidrs).toBeUndefined();
  expect(readSettings({ SIGN_UP: 'open' }).allowCidrs).toBe('');
  expect(readSettings({ SIGN_UP: 'open', PROBE_ALLOW_CIDRS: '10.0.0.0/8' }).allowCidrs).toBe(
    '10.0.0.0/8',
  );
  const seat = {
    home: '/home',
    name: 'virginia',
    credentials: 'x',
    natsUrl: 'nats://127.0.0.1:4222',
    receiverPort: 1,
  };
  const allowed = (set: Record<string, string>): string | undefined =>
    probesEnvironment(set, [seat], readSettings(set).allowCidrs).PROBE_ALLOW_CIDRS;
  expect(allowed({})).toContain('127.0.0.0/8');
  expect(allowed({ SIGN_UP: 'open' })).toBe('');
});

test('the same holds where a file opens sign-up', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'antipode-settings-'));
  try {
    const SIGN_UP_FILE = join(folder, 'sign-up');
    await writeFile(SIGN_UP_FILE, 'open\n');
    expect(readSettings({ SIGN_UP_FILE }).allowCidrs).toBe('');
    expect(signUpEnvironment({ SIGN_UP_FILE }, readSettings({ SIGN_UP_FILE }))).toEqual({
      SIGN_UP_FILE,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
