import { rrulestr } from 'rrule';
import { describe, expect, test } from 'vitest';
import { ruleFrom } from '../../../coordinator/maintenance/recurrence.ts';
import { ruleWords } from '../../../coordinator/maintenance/words.ts';

// A Tuesday, the fourth of its month.
const start = Date.parse('2026-11-24T02:00:00Z');
const words = (rule: string, at = start): string => ruleWords(ruleFrom(rule), at);

describe('a rule in words', () => {
  test.each([
    ['FREQ=DAILY', 'every day'],
    ['FREQ=DAILY;INTERVAL=3', 'every 3 days'],
    ['FREQ=WEEKLY', 'every week on Tuesday'],
    ['FREQ=WEEKLY;BYDAY=SU', 'every week on Sunday'],
    ['FREQ=WEEKLY;BYDAY=FR,MO', 'every week on Monday and Friday'],
    ['FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR', 'every weekday'],
    ['FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR', 'every weekday'],
    ['FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TU,WE,TH,FR', 'every 2 weeks on Monday, Tuesday, Wednesday, Thursday and Friday'],
    ['FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO', 'every 2 weeks on Monday, in weeks that begin on Sunday'],
    ['FREQ=MONTHLY', 'every month on the 24th'],
    ['FREQ=MONTHLY;BYMONTHDAY=1,-1', 'every month on the 1st and the last day'],
    ['FREQ=MONTHLY;BYMONTHDAY=-2', 'every month on the 2nd to last day'],
    ['FREQ=MONTHLY;BYDAY=2TU', 'every month on the 2nd Tuesday'],
    ['FREQ=MONTHLY;BYDAY=-1FR', 'every month on the last Friday'],
    ['FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR', 'every month on the 13th where that is a Friday'],
    [
      'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1',
      'every month on Monday, Tuesday, Wednesday, Thursday and Friday, of these only the last in each month',
    ],
    ['FREQ=YEARLY', 'every year on 24 November'],
    ['FREQ=YEARLY;BYMONTH=3,9', 'every year in March and September on the 24th'],
    ['FREQ=YEARLY;BYMONTH=1;BYDAY=1SU', 'every year in January on the 1st Sunday'],
    ['FREQ=YEARLY;BYWEEKNO=20', 'every year in week 20 on Tuesday'],
    ['FREQ=YEARLY;BYYEARDAY=100,-1', 'every year on the last and 100th day of the year'],
    ['FREQ=DAILY;BYHOUR=2,14;BYMINUTE=30', 'every day at 02:30 and 14:30'],
    ['FREQ=DAILY;BYMINUTE=0,30', 'every day at 02:00 and 02:30'],
    ['FREQ=DAILY;BYHOUR=0,1,2,3,4,5,6', 'every day at 7 times of the day'],
    ['FREQ=DAILY;BYDAY=MO', 'every day if it is a Monday'],
    ['FREQ=HOURLY;INTERVAL=6', 'every 6 hours'],
    ['FREQ=HOURLY;BYHOUR=1,2;BYMINUTE=15', 'every hour in hours 1 and 2 at minute 15'],
    ['FREQ=MINUTELY;INTERVAL=30;BYDAY=SA,SU', 'every 30 minutes if it is a Saturday or Sunday'],
    ['FREQ=DAILY;COUNT=1', 'every day, once'],
    ['FREQ=DAILY;COUNT=10', 'every day, 10 times'],
    ['FREQ=DAILY;UNTIL=20271231', 'every day, until 31 December 2027'],
    ['FREQ=DAILY;UNTIL=20271231T020000', 'every day, until 31 December 2027, 02:00'],
    ['FREQ=DAILY;UNTIL=20271231T020000Z', 'every day, until 31 December 2027, 02:00 UTC'],
  ])('%s is %s', (rule, expected) => {
    expect(words(rule)).toBe(expected);
  });

  test('says of the usual ones what the library that everybody knows says', () => {
    for (const rule of [
      'FREQ=DAILY',
      'FREQ=WEEKLY;BYDAY=SU',
      'FREQ=DAILY;INTERVAL=3',
      'FREQ=MONTHLY;BYDAY=2TU',
      'FREQ=MONTHLY;BYMONTHDAY=4',
    ])
      expect(words(rule)).toBe(rrulestr(rule).toText());
  });

  test('names the 11th, 12th and 13th as they are spoken', () => {
    expect(words('FREQ=MONTHLY;BYMONTHDAY=1,2,3,11,12,13,21,22,23')).toBe(
      'every month on the 1st, the 2nd, the 3rd, the 11th, the 12th, the 13th, the 21st, the 22nd and the 23rd',
    );
  });
});
