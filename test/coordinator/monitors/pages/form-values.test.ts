import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { configFrom, emptyForm, formOfConfig } from '../../../../coordinator/monitors/pages/form-config.ts';
import { linesFrom, linesText, pairsFrom, pairsText } from '../../../../coordinator/monitors/pages/form-values.ts';
import { formOf } from '../../../../coordinator/web/form-data.ts';
import { kinds } from '../../../../shared/api/config-keys.ts';

/** How values of a config are written in the fields of a form, and read from there. */

describe('what the form reads', () => {
  const anyText = fc.string({ unit: 'grapheme', minLength: 0, maxLength: 30 });
  const line = fc.oneof(anyText, fc.constantFrom('[]', '["a"]', '{}', ' a', 'a\nb', ''));

  test('lines are the list that they were written from, whatever stands in it', () => {
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), (list) => {
        expect(linesFrom(linesText(list))).toEqual(list);
      }),
    );
  });

  test('so are pairs', () => {
    const name = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,12}$/);
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, line), { minLength: 1, selector: ([each]) => each }), (pairs) => {
        expect(Object.fromEntries(pairsFrom(pairsText(pairs)) as [string, string][])).toEqual(Object.fromEntries(pairs));
      }),
    );
  });

  test('also with a line separator in them, which no browser makes a new line of', () => {
    const pairs: readonly (readonly [string, string])[] = [
      ['X-Note', 'one\u2028two'],
      ['X-Other', 'a\u2029b'],
    ];
    expect(pairsFrom(pairsText(pairs))).toEqual(pairs);
  });

  test('equal values are of the type that they were', () => {
    const scalar = fc.oneof(anyText, fc.integer(), fc.boolean(), fc.constant(null), fc.constantFrom('5', 'true', 'null', '"5"', ' x '));
    fc.assert(
      fc.property(scalar, (equals) => {
        const json = [{ path: '$.a', equals }];
        const shown = formOfConfig('https', { json }, []);
        const other = formOf({ ...shown, 'config.json.1.path': '$.b', 'config.json.1.is': 'exists', 'config.json.1.value': '' });
        expect(configFrom('https', other, { json }, []).config.json).toEqual([
          { path: '$.a', equals },
          { path: '$.b', exists: true },
        ]);
      }),
    );
  });

  test.each(['12345678901234567890', '-9007199254740993'])('%s is kept by its digits', (digits) => {
    const equalsOf = (value: string) =>
      configFrom('https', formOf({ 'config.json.0.path': '$.id', 'config.json.0.is': 'equals', 'config.json.0.value': value }), {}, [])
        .config;
    expect(equalsOf(digits)).toEqual({ json: [{ path: '$.id', equals: digits }] });
    expect(equalsOf('9007199254740991')).toEqual({ json: [{ path: '$.id', equals: 9_007_199_254_740_991 }] });
  });

  test('an empty form is an empty config', () => {
    for (const kind of kinds)
      expect(configFrom(kind, emptyForm(kind, ['Asia'], {}), {}, ['Asia'])).toEqual({ config: {}, faults: new Map() });
  });
});
