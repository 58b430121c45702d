import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createRecentCache, createShared } from '../../../shared/base/async.ts';
import { ConfigurationFault, readEnvironment } from '../../../shared/base/env.ts';
import { isLossy, lossyNumberIn } from '../../../shared/base/json.ts';
import { contrastOf, leastContrast, readableOn } from '../../../shared/base/names.ts';
import {
  csvLine,
  csvRows,
  type OverallStatus,
  restOf,
  sentenceOf,
} from '../../../shared/base/text.ts';
import {
  briefDuration,
  clip,
  durationText,
  type Interval,
  length,
  subtract,
  union,
  wholeDuration,
} from '../../../shared/base/time.ts';
import fc from '../../support/random.ts';

describe('contrast', () => {
  const colour = fc
    .integer({ min: 0, max: 0xff_ff_ff })
    .map((value) => `#${value.toString(16).padStart(6, '0')}`);

  test('contrast is that of WCAG, in either order', () => {
    expect(contrastOf('#000000', '#ffffff')).toBeCloseTo(21);
    expect(contrastOf('#767676', '#ffffff')).toBeCloseTo(4.54, 2);
    expect(contrastOf('#ffffff', '#767676')).toBeCloseTo(4.54, 2);
    expect(contrastOf('#0a5bb5', '#0a5bb5')).toBe(1);
  });

  test('a readable colour stays as it is, and any other becomes readable on white and on dark', () => {
    fc.assert(
      fc.property(colour, fc.constantFrom('#ffffff', '#0f1318'), (given, ground) => {
        const made = readableOn(given, ground);
        expect(contrastOf(made, ground)).toBeGreaterThanOrEqual(leastContrast);
        if (contrastOf(given, ground) >= leastContrast) expect(made).toBe(given);
      }),
    );
  });
});

describe('csv', () => {
  test('a field is quoted, and quotes in it are doubled', () => {
    expect(csvLine(['a', 'b "c"', 'd, e\nf', ''])).toBe('"a","b ""c""","d, e\nf",""\r\n');
  });

  test('reads what it wrote, and what others write', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.stringMatching(/^[a-z",\r\n ]*$/), { minLength: 1 })),
        (rows) => {
          const safe = rows.map((row) => row.map((cell) => `a${cell}`));
          expect(csvRows(safe.map(csvLine).join(''))).toEqual(safe);
        },
      ),
    );
    expect(csvRows('a,b\n"c ""d""",\n,e')).toEqual([
      ['a', 'b'],
      ['c "d"', ''],
      ['', 'e'],
    ]);
    expect(csvRows('a,')).toEqual([['a', '']]);
    for (const broken of ['"a', '"a"b', 'a"b"']) expect(csvRows(broken)).toBeUndefined();
  });

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '|cmd', '%x'])(
    'a table calculation takes %j for no formula',
    (text) => {
      expect(csvLine([text])).toBe(`"'${text}"\r\n`);
    },
  );

  test('an absent value stays as it is', () => {
    expect(csvLine(['a=b', '1-2', 'https://shop.example/'])).toBe(
      '"a=b","1-2","https://shop.example/"\r\n',
    );
  });
});

describe('env', () => {
  const folder = mkdtempSync(join(tmpdir(), 'antipode-env-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const schema = z.object({
    PORT: z.coerce.number().int().default(8080),
    SECRET_KEY: z.string().min(8),
    BASE_URL: z.url(),
  });

  test('values are read, converted and frozen', () => {
    const config = readEnvironment(schema, {
      PORT: '1',
      SECRET_KEY: '12345678',
      BASE_URL: 'http://a.example',
      OTHER: 'x',
    });
    expect(config).toEqual({ PORT: 1, SECRET_KEY: '12345678', BASE_URL: 'http://a.example' });
    expect(Object.isFrozen(config)).toBe(true);
  });

  test('a secret may come from a file, without its last line feed', () => {
    const file = join(folder, 'key');
    writeFileSync(file, 'from-a-file\n');
    expect(
      readEnvironment(schema, { SECRET_KEY_FILE: file, BASE_URL: 'http://a.example' }).SECRET_KEY,
    ).toBe('from-a-file');
  });

  test('an empty value counts as not set', () => {
    expect(
      readEnvironment(schema, { PORT: '', SECRET_KEY: '12345678', BASE_URL: 'http://a.example' })
        .PORT,
    ).toBe(8080);
  });

  test('every error is in the one message', () => {
    const read = () =>
      readEnvironment(schema, { PORT: 'many', SECRET_KEY_FILE: join(folder, 'absent') });
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
    const both = {
      SECRET_KEY: '12345678',
      SECRET_KEY_FILE: join(folder, 'key'),
      BASE_URL: 'http://a.example',
    };
    expect(() => readEnvironment(schema, both)).toThrow(
      'SECRET_KEY and SECRET_KEY_FILE are both set',
    );
  });
});

describe('exact numbers', () => {
  test.each([
    ['0', false],
    ['-9007199254740991', false],
    ['9007199254740992', false],
    ['9007199254740993', true],
    ['-9007199254740993', true],
    ['100000000000000000000', false],
    ['12345678901234567890', true],
    ['0.30000000000000004441', false],
    ['1e21', false],
    ['1e400', true],
    ['9'.repeat(400), true],
  ])('the number %s, read and written again, is another one: %s', (written, lossy) => {
    expect(isLossy(written)).toBe(lossy);
  });

  test('only numbers are read, not the digits of texts', () => {
    expect(
      lossyNumberIn('{"a\\"12345678901234567890":"12345678901234567890","b":[1,2.5,"x"]}'),
    ).toBeUndefined();
    expect(lossyNumberIn('{"a":"\\\\","b":[1,{"c":12345678901234567890}]}')).toBe(
      '12345678901234567890',
    );
  });
});

describe('interval', () => {
  const intervals = fc.array(
    fc.tuple(fc.nat(40), fc.nat(40)).map(([from, to]): Interval => ({ from, to })),
    { maxLength: 12 },
  );
  const instants = Array.from({ length: 42 }, (_, index) => index);
  const covers = (list: readonly Interval[], at: number) =>
    list.some(({ from, to }) => from <= at && at < to);

  test('a union covers the same instants, sorted and disjoint', () => {
    fc.assert(
      fc.property(intervals, (given) => {
        const merged = union(given);
        for (const at of instants) expect(covers(merged, at)).toBe(covers(given, at));
        for (const [index, { from, to }] of merged.entries()) {
          expect(from).toBeLessThan(to);
          expect(from).toBeGreaterThan(merged[index - 1]?.to ?? -1);
        }
      }),
    );
  });

  test('a difference covers exactly what is in the first and not in the second', () => {
    fc.assert(
      fc.property(intervals, intervals, (a, b) => {
        const left = subtract(union(a), union(b));
        for (const at of instants) expect(covers(left, at)).toBe(covers(a, at) && !covers(b, at));
      }),
    );
  });

  test('a clip keeps what is in the window, and the length adds up', () => {
    fc.assert(
      fc.property(intervals, fc.nat(40), fc.nat(40), (given, from, to) => {
        const kept = clip(union(given), { from, to });
        expect(length(kept)).toBe(
          instants.filter((at) => covers(given, at) && from <= at && at < to).length,
        );
      }),
    );
  });
});

describe('recent cache', () => {
  const made = (count: number): [string, number][] =>
    Array.from({ length: count }, (_, at) => [`key ${at}`, at]);

  test('as many as it may hold are all found, however often they are read in turn', () => {
    const cache = createRecentCache<string, number>(10);
    for (const [key, value] of made(10)) cache.keep(key, value);
    for (let round = 0; round < 5; round += 1)
      for (const [key, value] of made(10)) expect(cache.find(key)).toBe(value);
  });

  test('of more, recently used ones stay and no more than twice as many are held', () => {
    const cache = createRecentCache<string, number>(10);
    for (const [key, value] of made(100)) {
      cache.keep(key, value);
      expect(cache.find('key 0')).toBe(0);
    }
    const found = made(100).filter(([key]) => cache.find(key) !== undefined);
    expect(found.length).toBeLessThanOrEqual(20);
    expect(found).toContainEqual(['key 99', 99]);
  });

  test('a value set again replaces the former', () => {
    const cache = createRecentCache<string, number>(2);
    cache.keep('a', 1);
    cache.keep('b', 2);
    cache.keep('c', 3);
    cache.keep('a', 4);
    expect(cache.find('a')).toBe(4);
  });

  test('a shared value is one object for equal values, until many others came between', () => {
    const shared = createShared<{ readonly text: string }>(2);
    const share = (text: string) => shared(text, { text });
    const first = share('a');
    expect(share('a')).toBe(first);
    expect(share('b')).toEqual({ text: 'b' });
    for (const text of ['c', 'd', 'e', 'f']) share(text);
    expect(share('a')).not.toBe(first);
    expect(share('a')).toEqual(first);
  });
});

describe('status in words', () => {
  const none = { down: 0, verifying: 0, up: 0, maintenance: 0, pending: 0, paused: 0 };
  const standing = (
    counts: Partial<OverallStatus['counts']>,
    down: readonly string[] = [],
    verifying: readonly string[] = [],
  ): OverallStatus => {
    const all = { ...none, ...counts };
    return {
      counts: {
        ...all,
        all: Object.values({ ...none, ...counts }).reduce((sum, count) => sum + count, 0),
      },
      down,
      verifying,
    };
  };

  describe('the sentence', () => {
    test.each([
      [standing({}), 'No monitors yet', ''],
      [standing({ up: 1 }), 'Everything is up', ''],
      [standing({ up: 48 }), 'Everything is up', '48 monitors.'],
      [standing({ down: 1, up: 3 }, ['Checkout']), 'Checkout is down', '3 of 4 are up.'],
      [standing({ down: 2, up: 3 }, ['A', 'B']), 'A and B are down', '3 of 5 are up.'],
      [standing({ down: 3 }, ['A', 'B', 'C']), 'A, B and C are down', ''],
      [standing({ down: 12, up: 1 }, ['A', 'B', 'C']), '12 monitors are down', '1 of 13 are up.'],
      [
        standing({ down: 1, verifying: 1, maintenance: 1, up: 45 }, ['Checkout'], ['Search API']),
        'Checkout is down',
        '45 of 48 are up.',
      ],
      [
        standing({ verifying: 1, up: 1 }, [], ['Search API']),
        'Search API is being verified',
        '1 of 2 are up.',
      ],
      [standing({ verifying: 4 }, [], ['a', 'b', 'c']), 'Four monitors are being verified', ''],
      [standing({ paused: 2 }), 'Everything is paused', ''],
      [standing({ pending: 1 }), 'Waiting for the first check', ''],
      [standing({ pending: 2, up: 1 }), 'Everything checked so far is up', '1 of 3 are up.'],
      [standing({ maintenance: 1 }), 'Everything is in maintenance', ''],
      [standing({ maintenance: 1, up: 1 }), 'Everything else is up', '1 of 2 are up.'],
    ])(
      '%#: says in the present tense whether all is healthy, and then the rest',
      (of, sentence, rest) => {
        expect([sentenceOf(of), restOf(of)]).toEqual([sentence, rest]);
      },
    );

    test('cuts a name that would push everything else out of sight', () => {
      expect(sentenceOf(standing({ down: 1 }, ['x'.repeat(2_000)])).length).toBeLessThan(60);
    });
  });

  describe('a length of time', () => {
    test.each([
      [0, '0 ms', '0 s'],
      [263, '263 ms', '0 s'],
      [4_000, '4 s', '4 s'],
      [372_000, '6 min 12 s', '6 min'],
      [3_600_000, '1 h', '1 h'],
      [4_864_000, '1 h 21 min', '1 h'],
      [1_828_800_000, '21 days 4 h', '21 days'],
      [-5, '0 ms', '0 s'],
    ])('of %i ms is written in its largest units, rounded down', (ms, text, brief) => {
      expect([durationText(ms), briefDuration(ms)]).toEqual([text, brief]);
    });

    test('adds up where all its units are written', () => {
      const parts = [2_587_128_000, 4_872_000, 0].map(wholeDuration);
      expect(parts).toEqual(['29 days 22 h 38 min 48 s', '1 h 21 min 12 s', '0']);
      expect(wholeDuration(2_587_128_000 + 4_872_000)).toBe('30 days');
    });
  });
});
