import { expect, test } from 'vitest';
import { readConfig } from '../../coordinator/config.ts';
import { busEnvironment } from '../../deploy/local/environments.ts';
import { createBusIdentity } from '../../deploy/local/nats.ts';

const whole = {
  ...busEnvironment(createBusIdentity(Date.now()), 'nats://bus.example:4222'),
  DATABASE_URL: 'postgres://antipode:hidden@db.example:5432/antipode',
  SECRET_KEY: 'k'.repeat(32),
};

test('a whole environment is a configuration', () => {
  expect(readConfig(whole)).toMatchObject({ PORT: 8080, KEEP_RAW_DAYS: 7, NATS_URL: 'nats://bus.example:4222' });
});

test('all faults are told at once, each by its name and with what is right, and no secret is repeated', () => {
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
  for (const secret of ['hidden', faulty.SECRET_KEY, faulty.NATS_ACCOUNT_SEED]) expect(read).not.toThrow(secret);
});
