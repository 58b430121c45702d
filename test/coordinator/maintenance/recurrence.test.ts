import fc from 'fast-check';
import rrule from 'rrule';
import { describe, expect, test } from 'vitest';
import { frequencies, recurrences, ruleFrom } from '../../../coordinator/maintenance/recurrence.ts';

const day = 86_400_000;
const utc = (text: string): number => Date.parse(`${text}Z`);
const written = (times: Iterable<number>): string[] => [...times].map((time) => new Date(time).toISOString().slice(0, 16));

const first = (rule: string, start: string, count: number): string[] => {
  const found: number[] = [];
  for (const time of recurrences(ruleFrom(rule), utc(start), utc(start), utc(start) + 40 * 366 * day)) {
    if (found.push(time) === count) break;
  }
  return written(found);
};

describe('a rule on local times', () => {
  test('repeats on the days and times that the standard gives', () => {
    expect(first('FREQ=WEEKLY;BYDAY=SU', '2026-03-01T02:00', 3)).toEqual(['2026-03-01T02:00', '2026-03-08T02:00', '2026-03-15T02:00']);
    expect(first('FREQ=MONTHLY', '2026-01-31T02:00', 3)).toEqual(['2026-01-31T02:00', '2026-03-31T02:00', '2026-05-31T02:00']);
    expect(first('FREQ=MONTHLY;BYDAY=-1FR', '2026-01-01T22:30', 2)).toEqual(['2026-01-30T22:30', '2026-02-27T22:30']);
    expect(first('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29', '2026-01-01T00:00', 2)).toEqual(['2028-02-29T00:00', '2032-02-29T00:00']);
    expect(first('FREQ=YEARLY;BYWEEKNO=20', '1997-05-12T09:00', 2)).toEqual(['1997-05-12T09:00', '1998-05-11T09:00']);
    expect(first('FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1', '2026-01-01T09:00', 2)).toEqual(['2026-01-30T09:00', '2026-02-27T09:00']);
    expect(first('FREQ=HOURLY;INTERVAL=5', '2026-01-01T00:00', 6)).toEqual([
      ...['2026-01-01T00:00', '2026-01-01T05:00', '2026-01-01T10:00', '2026-01-01T15:00', '2026-01-01T20:00', '2026-01-02T01:00'],
    ]);
    expect(first('FREQ=DAILY;BYHOUR=2,14;BYMINUTE=0,30', '2026-01-01T00:00', 4)).toEqual([
      ...['2026-01-01T02:00', '2026-01-01T02:30', '2026-01-01T14:00', '2026-01-01T14:30'],
    ]);
  });

  test('whose other week begins on Sunday differs from one whose week begins on Monday', () => {
    const start = '1997-08-05T09:00';
    expect(first('FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO', start, 4)).toEqual([
      ...['1997-08-05T09:00', '1997-08-10T09:00', '1997-08-19T09:00', '1997-08-24T09:00'],
    ]);
    expect(first('FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU', start, 4)).toEqual([
      ...['1997-08-05T09:00', '1997-08-17T09:00', '1997-08-19T09:00', '1997-08-31T09:00'],
    ]);
  });

  test('gives the same occurrences whether asked for at once or in pieces, however far from its start', () => {
    const rule = ruleFrom('FREQ=HOURLY;INTERVAL=7;BYDAY=MO,WE');
    const start = utc('2020-01-01T03:20');
    const [from, middle, to] = [utc('2039-02-01T00:00'), utc('2039-02-11T05:17'), utc('2039-03-01T00:00')];
    const whole = [...recurrences(rule, start, from, to)];
    expect(whole.length).toBeGreaterThan(20);
    expect([...recurrences(rule, start, from, middle), ...recurrences(rule, start, middle, to)]).toEqual(whole);
    expect(whole).toEqual([...recurrences(rule, start, start, to)].filter((time) => time >= from));
  });

  test('that never occurs ends its search at the end of the range', () => {
    for (const text of ['FREQ=HOURLY;INTERVAL=24;BYHOUR=5', 'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30', 'FREQ=MINUTELY;INTERVAL=2;BYMINUTE=1'])
      expect([...recurrences(ruleFrom(text), utc('2026-01-01T00:00'), utc('2026-01-01T00:00'), utc('2030-01-01T00:00'))]).toEqual([]);
  });
});

/** Another implementation of the standard. It never returns from some rules, which the generator below leaves out. */
const oracle = (text: string, start: number, to: number): string[] => {
  const options = rrule.RRule.parseString(text);
  const found: number[] = [];
  const rule = new rrule.RRule({ ...options, dtstart: new Date(start), until: new Date(to - 1) }, true);
  rule.all((date) => found.push(date.getTime()) < 60);
  return written(found);
};

const some = <T>(from: readonly T[], most = 3): fc.Arbitrary<readonly T[]> =>
  fc.uniqueArray(fc.constantFrom(...from), { minLength: 1, maxLength: most });
const upTo = (least: number, most: number): number[] => Array.from({ length: most - least + 1 }, (_, i) => least + i);
const signed = (most: number): number[] => [...upTo(-most, -1), ...upTo(1, most)];
const part = (name: string, values: fc.Arbitrary<readonly (string | number)[]>, freq = 2): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: freq, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: values.map((list) => `;${name}=${list.toSorted((a, b) => Number(a) - Number(b)).join(',')}`) },
  );
const weekdays = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];

const ruleText: fc.Arbitrary<string> = fc.constantFrom(...frequencies.slice(0, 5)).chain((freq) => {
  const numbered = freq === 'MONTHLY' || freq === 'YEARLY';
  // The other implementation loses plain weekdays beside numbered ones, so each rule has one sort.
  const nth = weekdays.flatMap((name) => [`1${name}`, `2${name}`, `-1${name}`]);
  const days = numbered ? fc.oneof(some(weekdays), some(nth)) : some(weekdays);
  const steps = freq === 'HOURLY' ? fc.constantFrom(1, 2, 3, 5, 7) : fc.integer({ min: 1, max: 6 });
  return fc
    .tuple(
      steps.map((interval) => (interval === 1 ? '' : `;INTERVAL=${interval}`)),
      part('BYMONTH', some(upTo(1, 12), 4)),
      freq === 'WEEKLY' ? fc.constant('') : part('BYMONTHDAY', some(signed(31), 6)),
      freq === 'YEARLY' || freq === 'HOURLY' ? part('BYYEARDAY', some(signed(366), 6), 5) : fc.constant(''),
      part('BYDAY', days),
      part('BYHOUR', some(upTo(0, 23)), freq === 'HOURLY' ? 100_000 : 3),
      part('BYMINUTE', some(upTo(0, 59)), 3),
      fc.constantFrom('', '', ';WKST=SU', ';WKST=TH'),
      numbered ? fc.constantFrom('', '', ';BYSETPOS=1', ';BYSETPOS=-1', ';BYSETPOS=2') : fc.constant(''),
    )
    .map((parts) => `FREQ=${freq}${parts.join('')}`)
    .filter((text) => !text.includes('BYSETPOS') || /;BY(MONTH|MONTHDAY|YEARDAY|DAY|HOUR|MINUTE)=/.test(text));
});

test('rules of every shape occur as in another implementation of RFC 5545', () => {
  const starts = fc
    .date({ min: new Date('2020-01-01'), max: new Date('2035-01-01'), noInvalidDate: true })
    .map((date) => Math.floor(date.getTime() / 1000) * 1000);
  let compared = 0;
  fc.assert(
    fc.property(ruleText, starts, (text, start) => {
      const ours: number[] = [];
      const to = start + 6 * 366 * day;
      for (const time of recurrences(ruleFrom(text), start, start, to)) if (ours.push(time) === 60) break;
      // Where nothing occurs the other one would go on to the year 9999; that it finds nothing either is then not asked.
      if (ours.length === 0) return;
      compared += 1;
      expect(written(ours)).toEqual(oracle(text, start, ours.length === 60 ? Number.MAX_SAFE_INTEGER / 2 : (ours.at(-1) ?? 0) + 1));
    }),
    { numRuns: 1500 },
  );
  expect(compared).toBeGreaterThan(700);
});
