import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSettings } from '../../deploy/local/settings.ts';

const bus = {
  NATS_URL: 'nats://bus.example:4222',
  NATS_CREDENTIALS: 'c',
  NATS_ACCOUNT_PUBLIC: 'a',
  NATS_ACCOUNT_SEED: 's',
  NATS_OPERATOR_SEED: 'o',
  NATS_SYSTEM_CREDENTIALS: 'y',
};

test('nothing set means the embedded parts on port 8080', () => {
  expect(readSettings({})).toMatchObject({ port: 8080, host: '127.0.0.1', databaseUrl: undefined, bus: undefined });
});

test('a bus of one’s own is taken whole', () => {
  expect(readSettings(bus).bus).toEqual(bus);
});

test('a bus that is described by halves is refused, and what is missing is named', () => {
  const { NATS_OPERATOR_SEED: _, NATS_CREDENTIALS: __, ...half } = bus;
  expect(() => readSettings(half)).toThrow('NATS_CREDENTIALS, NATS_OPERATOR_SEED are not: set all of them');
});

test('credentials without a bus are refused too', () => {
  expect(() => readSettings({ NATS_CREDENTIALS: 'c' })).toThrow('NATS_CREDENTIALS set, but NATS_URL');
});

test('a secret may come from a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'antipode-settings-'));
  try {
    const file = join(folder, 'seed');
    await writeFile(file, 'from a file\n');
    const { NATS_ACCOUNT_SEED: _, ...rest } = bus;
    expect(readSettings({ ...rest, NATS_ACCOUNT_SEED_FILE: file }).bus?.NATS_ACCOUNT_SEED).toBe('from a file');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a port that is none, and a database that is none, are both named at once', () => {
  expect(() => readSettings({ PORT: '99999', DATABASE_URL: 'mysql://x' })).toThrow(/PORT[\s\S]*DATABASE_URL/);
});
