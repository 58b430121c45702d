import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { ConfigurationFault, readEnvironment } from '../../../shared/base/env.ts';

const folder = mkdtempSync(join(tmpdir(), 'antipode-env-'));
afterAll(() => rmSync(folder, { recursive: true }));

const schema = z.object({ PORT: z.coerce.number().int().default(8080), SECRET_KEY: z.string().min(8), BASE_URL: z.url() });

test('values are read, converted and frozen', () => {
  const config = readEnvironment(schema, { PORT: '1', SECRET_KEY: '12345678', BASE_URL: 'http://a.example', OTHER: 'x' });
  expect(config).toEqual({ PORT: 1, SECRET_KEY: '12345678', BASE_URL: 'http://a.example' });
  expect(Object.isFrozen(config)).toBe(true);
});

test('a secret may come from a file, without its last line feed', () => {
  const file = join(folder, 'key');
  writeFileSync(file, 'from-a-file\n');
  expect(readEnvironment(schema, { SECRET_KEY_FILE: file, BASE_URL: 'http://a.example' }).SECRET_KEY).toBe('from-a-file');
});

test('an empty value counts as not set', () => {
  expect(readEnvironment(schema, { PORT: '', SECRET_KEY: '12345678', BASE_URL: 'http://a.example' }).PORT).toBe(8080);
});

test('every fault stands in the one message', () => {
  const read = () => readEnvironment(schema, { PORT: 'many', SECRET_KEY_FILE: join(folder, 'absent') });
  expect(read).toThrow(ConfigurationFault);
  expect(read).toThrow(/PORT[\s\S]*|BASE_URL/);
  try {
    read();
  } catch (fault) {
    const text = String(fault);
    expect(text).toContain('SECRET_KEY_FILE cannot be read');
    expect(text).toContain('PORT: must be a whole number');
    expect(text).toContain('BASE_URL: is not set');
    expect(text).not.toContain('SECRET_KEY: is not set');
  }
});

test('a value and its file together are refused by name', () => {
  const both = { SECRET_KEY: '12345678', SECRET_KEY_FILE: join(folder, 'key'), BASE_URL: 'http://a.example' };
  expect(() => readEnvironment(schema, both)).toThrow('SECRET_KEY and SECRET_KEY_FILE are both set');
});
