import { describe, expect, test } from 'vitest';
import { parseProbeCredentials, printProbeCredentials } from '../../../shared/bus/identity.ts';
import { createKey, issueCredentials } from '../../../shared/bus/nkeys.ts';

const given = {
  probe: '0198c0de-0000-7000-8000-000000000001',
  name: 'eu-1',
  continent: 'Europe' as const,
  organisation: null,
  nats_url: 'nats://bus.example:4222',
  nats_credentials: issueCredentials({ name: 'eu-1', account: createKey('account') }, 0).credentials,
  signing_keys: [createKey('user').id],
  require_signed: true,
};

describe('the credentials of a probe', () => {
  test('are one word that gives back what was printed', () => {
    const word = printProbeCredentials(given);
    expect(word).toMatch(/^[\w-]+$/);
    expect(parseProbeCredentials(`  ${word}\n`)).toEqual({ v: 1, ...given });
  });

  test.each([
    ['half of the word', printProbeCredentials(given).slice(0, 100), 'copied whole'],
    ['something else', 'hello', 'copied whole'],
    ['a continent that is none', Buffer.from(JSON.stringify({ v: 1, ...given, continent: 'Atlantis' })).toString('base64url'), 'continent'],
    [
      'no credentials of the bus',
      Buffer.from(JSON.stringify({ v: 1, ...given, nats_credentials: '' })).toString('base64url'),
      'nats_credentials',
    ],
  ])('are refused when they are %s', (_, word, says) => {
    expect(() => parseProbeCredentials(word)).toThrow(says);
  });

  test('never stand in the message of a refusal', () => {
    const broken = Buffer.from(JSON.stringify({ ...given, v: 2 })).toString('base64url');
    let said = '';
    try {
      parseProbeCredentials(broken);
    } catch (error) {
      said = String(error);
    }
    expect(said).toContain('do not fit');
    for (const line of given.nats_credentials.split('\n').filter((text) => text.length > 40)) expect(said).not.toContain(line);
  });
});
