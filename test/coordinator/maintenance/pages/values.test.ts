import { describe, expect, test } from 'vitest';
import { chosenOf, formOfNew, inputIn, ruleIn } from '../../../../coordinator/maintenance/pages/parts.ts';
import { formOf } from '../../../../coordinator/web/form-data.ts';

/** The picker of a window's repetition, and the rule behind each choice. */

// A Tuesday, the fourth of its month; the 29th of December is a fifth one.
const starts_at = '2026-11-24T02:00';

describe('a choice', () => {
  test.each([
    [{ repeats: 'once' }, '', starts_at],
    [{ repeats: 'daily' }, 'FREQ=DAILY', starts_at],
    [{ repeats: 'daily', until: '2027-12-31' }, 'FREQ=DAILY;UNTIL=20271231', starts_at],
    [{ repeats: 'weekdays' }, 'FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR', starts_at],
    [{ repeats: 'weekly' }, 'FREQ=WEEKLY', starts_at],
    [{ repeats: 'weekly', 'days[]': ['SU', 'MO'] }, 'FREQ=WEEKLY;BYDAY=MO,SU', starts_at],
    [{ repeats: 'monthly_day' }, 'FREQ=MONTHLY', starts_at],
    [{ repeats: 'monthly_nth' }, 'FREQ=MONTHLY;BYDAY=4TU', starts_at],
    [{ repeats: 'monthly_last', until: '2027-06-01' }, 'FREQ=MONTHLY;BYDAY=-1TU;UNTIL=20270601', starts_at],
    [{ repeats: 'own', rrule: 'FREQ=HOURLY;INTERVAL=6' }, 'FREQ=HOURLY;INTERVAL=6', starts_at],
  ] as const)('%o is %s, and is read back as the same', (choice, rule, starts) => {
    expect(ruleIn(formOf({ starts_at: starts, ...choice }))).toBe(rule);
    const { repeats, days, until, rrule } = chosenOf(rule === '' ? null : rule, starts);
    const again = formOf({ starts_at: starts, repeats, 'days[]': days, until, rrule });
    expect(repeats).toBe(choice.repeats);
    expect(ruleIn(again)).toBe(rule);
  });

  test('of the fifth such weekday of a month is the last, because most months have no fifth', () => {
    expect(ruleIn(formOf({ starts_at: '2026-12-29T02:00', repeats: 'monthly_nth' }))).toBe('FREQ=MONTHLY;BYDAY=-1TU');
  });

  test.each([
    'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO',
    'FREQ=DAILY;COUNT=5',
    'FREQ=DAILY;UNTIL=20271231T020000Z',
    'FREQ=MONTHLY;BYDAY=2WE',
    'FREQ=YEARLY',
  ])('that is none of the usual ones, as %s, is a rule of one’s own and stays as it is', (rule) => {
    const chosen = chosenOf(rule, starts_at);
    expect(chosen).toMatchObject({ repeats: 'own', rrule: rule });
    expect(ruleIn(formOf({ starts_at, ...chosen }))).toBe(rule);
  });
});

test('the form of a new one proposes an hour that is to come, on the clock of the organisation', () => {
  const form = formOfNew({ monitor: 'm' }, 'Europe/Berlin', Date.parse('2026-11-22T22:40:00Z'));
  expect([form.value('starts_at'), form.value('ends_at'), form.value('when')]).toEqual(['2026-11-23T01:00', '2026-11-23T02:00', 'planned']);
  expect(form.values('monitors[]')).toEqual(['m']);
});

test('one from now on is once, and as long as was chosen, whatever the rest of the form says', () => {
  const now = Date.parse('2026-11-22T22:40:00Z');
  const input = inputIn(formOf({ when: 'now', for_s: 1800, repeats: 'daily', starts_at }), now);
  expect(input).toMatchObject({ starts_at: '2026-11-22T22:40:00.000Z', ends_at: '2026-11-22T23:10:00.000Z', rrule: '' });
});
