import { describe, expect, test } from 'vitest';
import { atJsonPath, parseJsonPath } from '../../../../shared/checks/https/config.ts';
import type { Json } from '../../../../shared/checks/result.ts';

describe('json path', () => {
  test.each<[string, Json | undefined]>([
    ['$', { a: { b: [10, 20, { 'c d': 'x' }] }, 'e-f': true, n: null }],
    ['$.a.b[0]', 10],
    ['a.b[-2]', 20],
    ['$.a.b[2]["c d"]', 'x'],
    ["$.a['b'].1", 20],
    ['$.a.b.length', 3],
    ['e-f', true],
    ['n', null],
    ['$.n.more', undefined],
    ['$.a.b[9]', undefined],
    ['$.constructor', undefined],
    ['$.a.b.constructor', undefined],
  ])('the JSON path %s leads to %j', (path, expected) => {
    const document = { a: { b: [10, 20, { 'c d': 'x' }] }, 'e-f': true, n: null };
    const parsed = parseJsonPath(path);
    expect(parsed).toBeDefined();
    expect(atJsonPath(document, parsed ?? [])).toEqual(expected);
  });

  test.each([
    '',
    '.',
    '$.',
    '$..a',
    'a..b',
    'a[',
    'a[x]',
    'a["b]',
    '$["a"]b',
    'a b',
    'a[*]',
    `${'a.'.repeat(40)}a`,
  ])('%j is no JSON path', (path) => {
    expect(parseJsonPath(path)).toBeUndefined();
  });
});
