import { describe, expect, test } from 'vitest';
import { patternFault } from '../../../../shared/checks/patterns/program.ts';
import { effortOf, search, searched } from '../../../../shared/checks/patterns/search.ts';
import { otherCases } from '../../../../shared/checks/patterns/sets.ts';
import fc from '../../../support/random.ts';

const plenty = 1_000_000_000;
const isIn = (pattern: string, text: string): boolean =>
  searched(pattern, text, effortOf(plenty)) !== 'nothing';

describe('a pattern', () => {
  const rows: readonly (readonly [
    pattern: string,
    matches: readonly string[],
    not: readonly string[],
  ])[] = [
    ['', ['', 'a'], []],
    ['a.c', ['abc', 'xa☃c', 'a😀c', 'a\rc'], ['ac', 'a\nc']],
    ['(?s)a.c', ['a\nc'], ['ac']],
    ['^ab$', ['ab'], ['ab\n', 'xab', '\nab\n']],
    ['(?m)^ab$', ['x\nab\ny', 'ab'], ['xab']],
    ['\\Aab\\z', ['ab'], ['xab', 'abx']],
    ['(?m)\\Aab\\z', ['ab'], ['x\nab']],
    ['\\bok\\b', ['is ok.', 'ok'], ['oks', 'öook', 'nok']],
    ['o\\Bk', ['ok'], ['o']],
    ['\\d{3}', ['x123'], ['12', '1 23']],
    ['\\d{2,3}x', ['12x', '1234x'], ['1x']],
    ['^\\w{2,}$', ['ab', 'a_9'], ['a', 'a-', 'äb']],
    ['a{,2}', ['a{,2}'], ['aa']],
    ['{"a":\\d}', ['{"a":1}'], ['{"a":x}']],
    ['[]a]+$', [']a]'], ['b']],
    ['^[^]a]$', ['b'], [']', 'a']],
    ['[a-c-]', ['-', 'b'], ['d']],
    ['[\\]\\-\\d]', [']', '-', '5'], ['x']],
    ['^(?:GET|PUT) /(?P<path>\\w+)$', ['GET /a', 'PUT /b'], ['POST /a', 'GET /']],
    ['(?<n>a)|b', ['a', 'b'], ['c']],
    ['a+?b*?c??$', ['aab', 'a'], ['b']],
    ['(?i)größe', ['GRÖSSE GRÖßE', 'gRÖẞe'], ['grosse']],
    ['(?i)[^k]', ['x'], ['k', 'K', '\u212a']],
    ['(?i)\\W', ['\u017f'], ['s', 'k']],
    ['(?i)[\\W]', ['-'], ['s', 'k']],
    ['(?i:a)b', ['Ab'], ['AB']],
    ['a(?i)b(?-i)c', ['aBc'], ['aBC', 'ABc']],
    ['(a(?i)b|c)d', ['aBd', 'Cd', 'cd'], ['aBD']],
    ['\\x41\\x{1F600}\\t\\.', ['A😀\t.'], ['A😀\tx']],
    ['\\s', [' ', '\t', '\n', '\r', '\f'], ['\v', '\u00a0']],
    ['(a*)*b|(|x)+y', ['b', 'aab', 'y'], ['a']],
    ['x{0}y', ['y'], ['x']],
  ];
  test.each(rows)('%s', (pattern, matches, not) => {
    expect(matches.filter((text) => !isIn(pattern, text))).toEqual([]);
    expect(not.filter((text) => isIn(pattern, text))).toEqual([]);
  });

  test('says where its first match ends', () => {
    expect(searched('b+', 'aabbbc', effortOf(plenty))).toEqual({ end: 3 });
    expect(searched('x', 'aabbbc', effortOf(plenty))).toBe('nothing');
  });

  test.each([
    ['(a', 'close each group with `)`, or write `\\(`'],
    ['a)', 'remove the `)` that closes no group, or write `\\)`'],
    ['[a', 'close each class with `]`, or write `\\[`'],
    ['[a-', 'close each class with `]`, or write `\\[`'],
    ['[z-a]', 'ranges of a class must go from the smaller to the larger; for a dash write `\\-`'],
    ['[a-\\d]', 'ranges of a class must go from the smaller to the larger; for a dash write `\\-`'],
    ['[[:alpha:]]', 'write ranges such as `a-z` instead of `[:alpha:]`, or `\\[` for `[`'],
    ['*a', 'put something before `*`, or write `\\*`'],
    ['a|+', 'put something before `+`, or write `\\+`'],
    ['a**', 'repeat once: put what is repeated twice into a group, `(?:a*)+`'],
    ['a{2}{3}', 'repeat once: put what is repeated twice into a group, `(?:a*)+`'],
    ['a{3,2}', 'counts must be from 0 to 1,000, the smaller first, as in `{2,5}`'],
    ['a{1001}', 'counts must be from 0 to 1,000, the smaller first, as in `{2,5}`'],
    [
      '(?:a{1000}){1000}',
      'must be shorter, or have smaller counts: written out it has more than 2,000 steps',
    ],
    [
      '(((){1000}){1000}){1000}',
      'must be shorter, or have smaller counts: written out it has more than 2,000 steps',
    ],
    ['(a)\\1', 'write it without `\\1`: RE2 syntax has no references to groups'],
    [
      '(?=a)',
      'write it without looking ahead or behind (`(?=`, `(?!`, `(?<=`, `(?<!`), which RE2 syntax does not have',
    ],
    [
      '(?<!a)b',
      'write it without looking ahead or behind (`(?=`, `(?!`, `(?<=`, `(?<!`), which RE2 syntax does not have',
    ],
    ['(?>a)', 'begin a group with `(`, `(?:`, `(?i)` or `(?P<name>`'],
    ['(?x)a', 'use the flags i, s and m; `x` is none of them'],
    [
      '\\pL',
      'write it without `\\p`: \\d \\D \\w \\W \\s \\S \\b \\B \\A \\z \\n \\r \\t \\f \\v \\a and \\x{…} are known',
    ],
    ['a\\', 'write `\\\\` for a backslash'],
    [`(?i)${'[Ā-℀]'.repeat(20)}`, 'ranges of letters must be smaller where (?i) holds'],
    ['\\x{110000}', 'code points must be at most `\\x{10FFFF}`'],
    ['('.repeat(102) + ')'.repeat(102), 'nest at most 100 groups'],
    ['a'.repeat(1_025), 'must have at most 1,024 characters'],
  ])('%s is refused', (pattern, remedy) => {
    expect(patternFault(pattern)).toBe(remedy);
  });

  test('as long as can be is taken', () => {
    expect(patternFault('a'.repeat(1_024))).toBeUndefined();
    expect(patternFault('a{1000}')).toBeUndefined();
    expect(patternFault('('.repeat(100) + ')'.repeat(100))).toBeUndefined();
  });
});

describe('beside RegExp', () => {
  const letter = fc.constantFrom('a', 'b', 'B', '-', ' ', '\n', '0', 'é', '☃', '😀', '_');
  const written = letter.map((one) =>
    one === '-' || one === '\n' ? { '-': '\\-', '\n': '\\n' }[one] : one,
  );
  const member = fc.oneof(
    written,
    fc.constantFrom('a-c', '0-9', 'A-Z', '\\d', '\\w', '\\s', 'é-😀', '\\x{61}'),
  );
  const inClass = fc
    .tuple(fc.constantFrom('', '^'), fc.array(member, { minLength: 1, maxLength: 3 }))
    .map(([not, members]) => `[${not}${members.join('')}]`);
  const atom = fc.oneof(
    { weight: 4, arbitrary: written.map((one) => (one === '\\-' ? '-' : one)) },
    inClass,
    fc.constantFrom('.', '\\d', '\\D', '\\w', '\\W', '\\s', '\\S', '\\x{1F600}', '\\.', '\\x42'),
  );
  const count = fc.constantFrom(
    '*',
    '+',
    '?',
    '{2}',
    '{0}',
    '{1,2}',
    '{0,3}',
    '{2,}',
    '*?',
    '+?',
    '??',
    '{1,3}?',
  );
  const { tree } = fc.letrec<{ tree: string; part: string; choice: string }>((tie) => ({
    part: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'pattern' },
      atom,
      fc.tuple(atom, count).map((both) => both.join('')),
      fc.constantFrom('^', '$', '\\b', '\\B'),
      fc
        .tuple(fc.constantFrom('(', '(?:', '(?<n>'), tie('tree'))
        .map(([open, inner]) => `${open}${inner})`),
      fc
        .tuple(fc.constantFrom('(', '(?:'), tie('tree'), count)
        .map(([open, inner, times]) => `${open}${inner})${times}`),
    ),
    choice: fc
      .array(tie('part'), { maxLength: 4, depthIdentifier: 'pattern' })
      .map((parts) => parts.join('')),
    tree: fc
      .array(tie('choice'), { minLength: 1, maxLength: 3, depthIdentifier: 'pattern' })
      .map((all) => all.join('|')),
  }));

  test('random patterns match the same texts', () => {
    let matching = 0;
    let apart = 0;
    fc.assert(
      fc.property(
        tree,
        fc.subarray(['i', 's', 'm']),
        fc.array(letter, { maxLength: 12 }).map((all) => all.join('')),
        (source, flags, given) => {
          // V8 finds \B within a character of two units, too.
          const text = source.includes('\\B') ? given.replaceAll('😀', '☃') : given;
          // The names of groups are told apart there, and `\x{…}` is `\u{…}`.
          const theirs = source.replaceAll('(?<n>', '(').replaceAll('\\x{', '\\u{');
          const expected = new RegExp(theirs, `u${flags.join('')}`).test(text);
          const ours = flags.length === 0 ? source : `(?${flags.join('')})${source}`;
          if (patternFault(ours) !== undefined) return;
          if (expected) matching += 1;
          else apart += 1;
          expect(isIn(ours, text), `${ours} in ${JSON.stringify(text)}`).toBe(expected);
        },
      ),
      { numRuns: 20_000 },
    );
    expect(Math.min(matching, apart)).toBeGreaterThan(2_000);
  });

  test('each letter has the same other cases', () => {
    const differing: string[] = [];
    for (let point = 0x80; point < 0x1_ea00; point += 1) {
      const letter = String.fromCodePoint(point);
      const upper = letter.toUpperCase();
      const lower = letter.toLowerCase();
      for (const other of new Set([upper, lower])) {
        if ([...other].length !== 1 || other === letter) continue;
        const expected = new RegExp(`^\\u{${point.toString(16)}}$`, 'iu').test(other);
        const of = otherCases([point, point]);
        const found = of.some(
          (from, index) =>
            index % 2 === 0 &&
            from <= (other.codePointAt(0) ?? 0) &&
            (of[index + 1] ?? 0) >= (other.codePointAt(0) ?? 0),
        );
        if (found !== expected) differing.push(`${letter} ${other}`);
      }
    }
    expect(differing).toEqual([]);
  });
});

describe('what a search costs', () => {
  const costOf = (pattern: string, text: string): number => {
    const effort = effortOf(plenty);
    searched(pattern, text, effort);
    return plenty - effort.left;
  };

  /** RegExp takes years with these. */
  test.each([
    ['(a+)+$', 'a', 'b'],
    ['^(a|a)*$', 'a', 'b'],
    ['^(a|aa)+$', 'a', 'b'],
    ['(.*)*x', 'a', ''],
    ['(?:a?){30}a{30}$', 'a', 'b'],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a', ''],
    ['(a*)*(b*)*(c*)*$', 'abc', '!'],
    ['(?:(?:a{1,8}){1,8}){1,8}$', 'a', 'b'],
  ])('%s grows with the text alone', (pattern, repeated, end) => {
    const [short, long] = [2_000, 20_000].map((times) =>
      costOf(pattern, repeated.repeat(times) + end),
    );
    expect(long).toBeLessThan(11 * (short ?? 0));
    expect(long).toBeLessThan(40 * 20_000 * repeated.length);
  });

  test('however many states a text leads to', () => {
    // Which of the last 60 characters was an a: no memory holds all of these states.
    const pattern = '(?:a|b)*a(?:a|b){60}c';
    let seed = 1;
    const text = Array.from({ length: 50_000 }, () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % 2 === 0 ? 'a' : 'b';
    }).join('');
    const [short, long] = [costOf(pattern, text.slice(0, 5_000)), costOf(pattern, text)];
    expect(long).toBeLessThan(11 * short);
    // Each step of the program twice, anew for each character.
    expect(long).toBeLessThan(4 * 2 * 200 * text.length);
  });

  test('what is left bounds it, and it rests between slices', () => {
    const text = 'ab'.repeat(1_000_000);
    const effort = effortOf(1_000_000);
    const work = search('x', text, effort);
    let rests = 0;
    let last = work.next();
    for (; !last.done; last = work.next()) rests += 1;
    expect(last.value).toBe('untold');
    expect(effort.left).toBeLessThan(0);
    expect(rests).toBe(9);
    // What comes after it costs nothing more.
    expect(searched('x', text, effort)).toBe('untold');
  });
});
