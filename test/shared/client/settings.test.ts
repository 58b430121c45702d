import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readSettings } from '../../../shared/client/settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'antipode-settings-'));
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string, text: string, mode = 0o600): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
};

const none = { XDG_CONFIG_HOME: join(folder, 'nowhere') };

test('the environment comes first, each value on its own', () => {
  const ANTIPODE_SETTINGS = file(
    'own.json',
    '{"url": "https://file.example/", "token": "svc_file"}',
  );
  expect(readSettings({ ANTIPODE_SETTINGS })).toEqual({
    url: 'https://file.example',
    token: 'svc_file',
  });
  const tokenAlone = file('token.json', '{"token": "svc_file"}');
  expect(
    readSettings({ ANTIPODE_SETTINGS: tokenAlone, ANTIPODE_URL: 'http://other.example/base/' }),
  ).toEqual({
    url: 'http://other.example/base',
    token: 'svc_file',
  });
  expect(readSettings({ ANTIPODE_SETTINGS, ANTIPODE_TOKEN: 'svc_other' })).toEqual({
    url: 'https://file.example',
    token: 'svc_other',
  });
});

test('a token never goes to another place than the one that its file names', () => {
  const ANTIPODE_SETTINGS = file(
    'placed.json',
    '{"url": "http://localhost:8080", "token": "svc_file"}',
  );
  expect(readSettings({ ANTIPODE_SETTINGS, ANTIPODE_URL: 'http://127.0.0.1:8080' }).token).toBe(
    'svc_file',
  );
  for (const ANTIPODE_URL of [
    'http://other.example:8080',
    'http://127.0.0.1:8081',
    'https://localhost:8080',
  ]) {
    expect(() => readSettings({ ANTIPODE_SETTINGS, ANTIPODE_URL })).toThrow(
      'Set ANTIPODE_TOKEN too',
    );
  }
  const own = file('elsewhere.json', '{"url": "https://elsewhere.example"}');
  const local = file(
    'placed-local.json',
    '{"base_url": "http://127.0.0.1:8080", "api_token": "svc_local"}',
  );
  expect(() => readSettings({ ANTIPODE_SETTINGS: own }, [local])).toThrow(
    /for http:\/\/127.0.0.1:8080, not for https:\/\/elsewhere.example/,
  );
});

test('the address of the API works as well as that of the service', () => {
  const url = (ANTIPODE_URL: string) =>
    readSettings({ ...none, ANTIPODE_URL, ANTIPODE_TOKEN: 'svc_a' }).url;
  expect(url('http://127.0.0.1:8080/api/v1')).toBe('http://127.0.0.1:8080');
  expect(url('https://a.example/base/api/v1/')).toBe('https://a.example/base');
});

test('the file of a local service serves from the checkout, after all others', () => {
  const local = file(
    'local.json',
    '{"base_url": "http://127.0.0.1:8080", "api_token": "svc_local", "pids": {}}',
  );
  expect(readSettings(none, [local])).toEqual({ url: 'http://127.0.0.1:8080', token: 'svc_local' });
});

test.each<[string, () => Readonly<Record<string, string>>, string]>([
  ['no address', () => none, 'ANTIPODE_URL'],
  ['no token', () => ({ ...none, ANTIPODE_URL: 'http://a.example' }), 'ANTIPODE_TOKEN'],
  [
    'an address that is none',
    () => ({ ...none, ANTIPODE_URL: 'ftp://a.example', ANTIPODE_TOKEN: 'svc_a' }),
    'https://antipode.example',
  ],
  [
    'a token with a line feed',
    () => ({ ...none, ANTIPODE_URL: 'http://a.example', ANTIPODE_TOKEN: 'svc_a\nb' }),
    'Copy it again',
  ],
  [
    'a file that others may read',
    () => ({ ANTIPODE_SETTINGS: file('open.json', '{}', 0o644) }),
    'chmod 600',
  ],
  [
    'a file that was asked for and is not there',
    () => ({ ANTIPODE_SETTINGS: join(folder, 'absent.json') }),
    'cannot be read',
  ],
  [
    'a file that is no JSON',
    () => ({ ANTIPODE_SETTINGS: file('bad.json', 'token=svc_secretsecret') }),
    'not a JSON object',
  ],
])('%s is told, with the remedy and without the token', (_, environment, remedy) => {
  expect(() => readSettings(environment())).toThrow(remedy);
  expect(() => readSettings(environment())).not.toThrow(/svc_/);
});
