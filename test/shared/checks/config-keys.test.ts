import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { configFaults, keySchemas, knownKeys } from '../../../shared/checks/config.ts';
import { configKeys, defaultWords } from '../../../shared/checks/config-keys.ts';
import { dnsSettings } from '../../../shared/checks/dns/config.ts';
import { httpsSettings } from '../../../shared/checks/https/config.ts';
import { type Kind, kinds } from '../../../shared/checks/kinds.ts';
import type { Json } from '../../../shared/checks/result.ts';

const target: Readonly<Record<Kind, string>> = { https: 'https://example.com/', dns: 'example.com', heartbeat: '' };

/** What an example needs beside it. */
const beside: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  secret_headers: { headers: { 'X-Api-Key': 'k' } },
  body: { method: 'POST' },
  timezone: { schedule: '30 2 * * *' },
};

const faults = (kind: Kind, key: string, value: Json) =>
  configFaults(kind, target[kind], { ...beside[key], [key]: value }, 60).filter((fault) => fault.key.startsWith(key));

const rows = kinds.flatMap((kind) => Object.entries(configKeys[kind]).map(([key, row]) => [kind, key, row] as const));
const schemaOf = (kind: Kind, key: string): z.ZodType => keySchemas(kind)[key] ?? z.never();

/** Bounds of the shape that people do not have to know, because whatever is of the right form keeps them. */
const implied: Readonly<Record<string, number>> = { resolver: 64, schedule: 100, timezone: 64, secret_headers: 100 };

/** All bounds and values that stand in a shape, however deep. */
const boundsOf = (schema: unknown): (string | number)[] => {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([word, value]: [string, unknown]) => {
    if (/^(minimum|maximum|maxLength|maxItems)$/.test(word)) return [Number(value)];
    if (word === 'enum' && Array.isArray(value)) return value.map(String);
    // Names of headers have a form of their own.
    return word === 'propertyNames' || word === 'pattern' ? [] : boundsOf(value);
  });
};

const asWritten = (bound: string | number): string => (typeof bound === 'number' ? bound.toLocaleString('en') : bound);

describe('the words of every config key', () => {
  test.each(kinds)('are there for all keys of %s, and for no other', (kind) => {
    expect(Object.keys(configKeys[kind])).toEqual(Object.keys(keySchemas(kind)));
    expect(knownKeys(kind)).toEqual(Object.keys(keySchemas(kind)));
  });

  test.each(rows)('%s %s: name the bounds and values that its shape has', (kind, key, { allowed, choices = [] }) => {
    const shape = z.toJSONSchema(schemaOf(kind, key), { unrepresentable: 'any' });
    const bounds = boundsOf(shape).filter((bound) => bound !== implied[key] && bound !== Number.MAX_SAFE_INTEGER);
    for (const bound of bounds) expect(allowed).toContain(asWritten(bound));
    for (const choice of choices) expect(allowed).toContain(choice);
  });

  test.each(rows)('%s %s: give an example that is taken, and all values where they are few', (kind, key, { example, choices }) => {
    expect(faults(kind, key, example)).toEqual([]);
    const values = (choices ?? []).map((choice): Json => (choice === 'true' ? true : choice === 'false' ? false : choice));
    for (const value of values) expect(faults(kind, key, value)).toEqual([]);
    if (choices) expect(faults(kind, key, 'none of them')).not.toEqual([]);
    // Where the shape has only so many values, they are told.
    const shape = z.toJSONSchema(schemaOf(kind, key), { unrepresentable: 'any' });
    if (shape.enum !== undefined || shape.type === 'boolean') expect(choices).toEqual(shape.enum ?? ['true', 'false']);
  });

  test.each(rows)('%s %s: say what is so where it is not given, once, and that is taken too', (kind, key, row) => {
    expect(row.initial === undefined).toBe(row.otherwise !== undefined);
    expect(defaultWords(row)).not.toBe('');
    if (row.initial === undefined) return;
    expect(faults(kind, key, row.initial)).toEqual([]);
    const read = { https: httpsSettings, dns: (config: Readonly<Record<string, Json>>) => dnsSettings({ target: target.dns, config }) };
    if (kind === 'heartbeat') return;
    const { expected_given: _given, ...left } = { expected_given: null, ...read[kind]({}) };
    const { expected_given: _too, ...written } = { expected_given: null, ...read[kind]({ [key]: row.initial }) };
    expect(JSON.stringify(written)).toBe(JSON.stringify(left));
  });
});
