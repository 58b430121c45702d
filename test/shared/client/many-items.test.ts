import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UsageFault } from '../../../shared/base/env.ts';
import { itemsIn } from '../../../shared/client/arguments.ts';
import { maxInCall, partsOf, togetherOf } from '../../../shared/client/calls.ts';
import { exits } from '../../../shared/client/http.ts';
import { openServed, type Served } from '../../support/api.ts';
import { createCommand } from '../../support/cli.ts';

describe('many items in a file', () => {
  const two = [{ a: 1 }, { b: '2' }];

  test.each([
    ['an array', JSON.stringify(two)],
    ['an array over several lines', JSON.stringify(two, null, 2)],
    ['a list as the API answers it', JSON.stringify({ items: two, next_cursor: null })],
    ['the same over several lines', JSON.stringify({ items: two, next_cursor: null }, null, 2)],
    ['one a line', two.map((one) => JSON.stringify(one)).join('\n')],
    [
      'one a line with empty ones, as Windows writes them',
      `\ufeff${two.map((one) => JSON.stringify(one)).join('\r\n\r\n')}\r\n`,
    ],
  ])('may be %s', (_, text) => {
    expect(itemsIn('items', text)).toEqual(two);
  });

  test('may be one alone', () => {
    expect(itemsIn('items', '{"a":1}')).toEqual([{ a: 1 }]);
    expect(itemsIn('items', '{\n  "a": 1\n}\n')).toEqual([{ a: 1 }]);
  });

  test.each([
    ['', 'nothing in it'],
    ['{"a":1}\n{"b":}', 'line 2 is not valid JSON'],
    ['[{"a":1},', 'not valid JSON'],
    ['[1]', 'item 1 is no JSON object'],
    [
      '{"a":1}\n{"b":12345678901234567890}',
      'line 2: the number 12345678901234567890 is not kept exactly',
    ],
  ])('is refused as %j', (text, words) => {
    expect(() => itemsIn('items', text)).toThrow(UsageFault);
    expect(() => itemsIn('items', text)).toThrow(words);
  });

  test('is sent in as many calls as it needs, where each item succeeds by itself, and is reported as one', () => {
    const items = Array.from({ length: 2 * maxInCall + 1 }, (_, nth) => ({ nth }));
    const parts = partsOf({ items, mode: 'each' });
    expect(parts.map((part) => Object(part).items.length)).toEqual([maxInCall, maxInCall, 1]);
    expect(parts.flatMap((part) => Object(part).items)).toEqual(items);
    expect(() => partsOf({ items, mode: 'all' })).toThrow('--mode each');
    expect(() => partsOf({ items })).toThrow('1,001 at once are more than 500');
    const answer = { applied: true, created: 1, changed: 2, refused: 0, items: [1] };
    expect(togetherOf([answer, { ...answer, refused: 3, items: [2, 3] }])).toEqual({
      ...answer,
      created: 2,
      changed: 4,
      refused: 3,
      items: [1, 2, 3],
    });
    expect(togetherOf([answer])).toBe(answer);
  });
});

describe('monitors batch', () => {
  let served: Served;
  let folder: string;
  let command: ReturnType<typeof createCommand>;

  beforeAll(async () => {
    served = await openServed();
    folder = mkdtempSync(join(tmpdir(), 'antipode-many-'));
    command = createCommand({ url: served.url, token: served.house.member.readWrite });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await served.close();
  });

  const file = (items: readonly unknown[]): string => {
    const path = join(folder, 'monitors.jsonl');
    writeFileSync(path, items.map((item) => JSON.stringify(item)).join('\n'));
    return `@${path}`;
  };
  const https = (name: string, more: object = {}) => ({
    type: 'https',
    target: 'https://example.com/',
    name,
    external_id: name,
    ...more,
  });

  test('makes and changes monitors, one line for each, and fails when one was refused', async () => {
    const made = await command.run([
      'monitors',
      'batch',
      '--items',
      file([https('one'), https('two')]),
    ]);
    expect([made.code, made.err]).toEqual([exits.done, '']);
    expect(JSON.parse(made.out)).toMatchObject({
      applied: true,
      created: 2,
      items: [{ result: 'created' }, { result: 'created' }],
    });

    const mixed = file([
      https('one', { interval_s: 120 }),
      https('bad', { target: 'nonsense' }),
      https('three'),
    ]);
    const none = await command.run(['monitors', 'batch', '--items', mixed, '--no-color'], {
      terminal: true,
    });
    expect(none.code).toBe(exits.refused);
    expect(none.out).toMatch(/^result +name +external id +error +id\n/);
    expect(none.out).toMatch(/^refused +.*bad/m);
    expect(none.out).toContain(
      'Nothing was done, because one was refused: 0 created, 0 changed, 1 refused. With --mode each',
    );

    const each = await command.run(
      ['monitors', 'batch', '--mode', 'each', '--items', mixed, '--no-color'],
      { terminal: true },
    );
    expect(each.code).toBe(exits.refused);
    const results = each.out
      .split('\n')
      .slice(1, 4)
      .map((line) => line.split(' ')[0]);
    expect(results).toEqual(['changed', 'refused', 'created']);
    expect(each.out).toMatch(/\n1 created, 1 changed, 1 refused\.\n$/);
    expect(each.err).toMatch(/3 so far/);
  });

  test('says what is wrong with a file before anything is sent', async () => {
    const path = join(folder, 'broken.jsonl');
    writeFileSync(path, `${JSON.stringify(https('four'))}\n{"type":`);
    const broken = await command.run(['monitors', 'batch', '--items', `@${path}`]);
    expect([broken.code, broken.out]).toEqual([exits.usage, '']);
    expect(broken.err).toContain('--items, line 2 is not valid JSON');
    expect(await command.json('monitors', 'list', '--external-id', 'four')).toMatchObject({
      items: [],
    });
    expect((await command.run(['monitors', 'batch'])).err).toContain(
      'monitors batch needs --items',
    );
  });
});
