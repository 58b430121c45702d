import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  chosenOf,
  formOfNew,
  inputIn,
  ruleIn,
} from '../../../../coordinator/maintenance/pages/parts.ts';
import { formOf } from '../../../../coordinator/web/form-data.ts';
import type { Person } from '../../../support/people.ts';
import { type Answer, hostile, startWeb, type TestWeb, type Values } from '../../../support/web.ts';

/** Maintenance on pages: planned, previewed, begun, ended, changed, deleted. */
describe('windows', () => {
  let web: TestWeb;
  let now = Date.parse('2030-03-20T10:00:00Z');
  let monitor: string;
  beforeAll(async () => {
    web = await startWeb({ clock: { now: () => now } });
    // They came in on that day, too.
    for (const person of [web.house.owner, web.house.viewer]) await web.cookieOf(person);
    await web.sql`update sessions set created_at = ${new Date(now)}, last_used_at = ${new Date(now)}`;
    await web.sql`update organisations set time_zone = 'Europe/Berlin' where id = ${web.house.organisation}`;
  });
  afterAll(() => web.close());

  const get = async (path: string, as: Person = web.house.owner): Promise<Answer> =>
    web.get(path, { as });
  const post = (path: string, form: Values, as: Person = web.house.owner): Promise<Answer> =>
    web.send(path, form, as);
  const planned = (more: Values = {}): Values => ({
    name: 'Upgrade',
    when: 'planned',
    starts_at: '2030-03-24T02:30',
    ends_at: '2030-03-24T03:30',
    repeats: 'once',
    'monitors[]': monitor,
    act: 'save',
    ...more,
  });
  const made = async (more: Values = {}): Promise<string> => {
    const { status, headers, text } = await post('/maintenance/new', planned(more));
    if (status !== 303) throw new Error(`it was not saved: ${status} ${/<ul>.*/.exec(text)?.[0]}`);
    return headers.get('location') ?? '';
  };
  test('before there is any, the page says what it is for, and leads to its form; without a monitor to one', async () => {
    expect((await get('/maintenance')).text).toContain('href="/monitors/new"');
    const { headers } = await post('/monitors/new', {
      type: 'heartbeat',
      name: 'Job',
      interval_s: '3600',
      act: 'save',
    });
    monitor = headers.get('location')?.split(/[/?#]/)[2] ?? '';
    const { text } = await get('/maintenance');
    expect(text).toContain('No maintenance scheduled');
    expect(text).toContain('href="/maintenance/new"');
    const viewer = await get('/maintenance', web.house.viewer);
    expect(viewer.text).toContain('No maintenance scheduled');
    expect(viewer.text).not.toContain('href="/maintenance/new"');
  });

  describe('the form', () => {
    test('proposes a time, and shows what it comes to on both clocks', async () => {
      const { text } = await get(`/maintenance/new?monitor=${monitor}`);
      expect(text).toContain('<option selected>Europe/Berlin');
      expect(text).toContain('value="2030-03-20T13:00"');
      expect(text).toContain(`name="monitors[]" value="${monitor}" checked`);
      expect(text).toMatch(/Once: <time [^>]*>Wed 20 Mar 2030, 13:00<\/time>–/);
      expect(text).toMatch(/Wed 20 Mar 2030, 12:00<\/time>–.* in UTC/);
    });

    test('shows the next ten of what was chosen, saves nothing, and says what summer time does', async () => {
      const { status, text } = await post(
        '/maintenance/new',
        planned({ repeats: 'weekly', 'days[]': ['SU'], act: 'look' }),
      );
      expect(status).toBe(200);
      expect(text).toContain('Every week on Sunday.');
      expect(text.match(/data-label="Europe\/Berlin"/g)).toHaveLength(10);
      expect(text).toContain(
        'The clock is put forward over 02:30 that night, so it begins at 03:30.',
      );
      expect(text).toContain('From here on 1 h earlier in UTC; the local time stays.');
      expect((await web.sql`select 1 from maintenance_windows`).length).toBe(0);
    });

    test('takes the time zone that was chosen', async () => {
      const { text } = await post(
        '/maintenance/new',
        planned({ time_zone: 'Asia/Tokyo', act: 'look' }),
      );
      expect(text).toContain('<abbr title="Asia/Tokyo">');
      expect(text).toContain('<option selected>Asia/Tokyo');
      const wrong = await post('/maintenance/new', planned({ time_zone: 'Nowhere/Here' }));
      expect([wrong.status, wrong.text.includes('Must be an IANA time zone')]).toEqual([400, true]);
    });

    test('says in the place of the times why there are none yet', async () => {
      const wrong = await post(
        '/maintenance/new',
        planned({ ends_at: '2030-03-24T02:00', act: 'look' }),
      );
      expect([
        wrong.status,
        wrong.text.includes('No occurrences: must be after the start.'),
      ]).toEqual([200, true]);
      const empty = await post('/maintenance/new', planned({ starts_at: '', act: 'look' }));
      expect(empty.text).toContain('Choose a start and an end');
    });

    test('returns with the input and the error, beside its field', async () => {
      const { status, text } = await post(
        '/maintenance/new',
        planned({ ends_at: '2030-03-24T02:00', name: hostile }),
      );
      expect(status).toBe(400);
      expect(text).toContain('id="field-ends-at-fault"');
      expect(text).not.toContain(hostile);
      const rule = await post('/maintenance/new', planned({ repeats: 'own', rrule: 'FREQ=NEVER' }));
      expect(rule.text).toContain('id="field-rrule-fault"');
      const until = await post(
        '/maintenance/new',
        planned({ repeats: 'daily', until: '2029-01-01' }),
      );
      expect(until.text).toContain('id="field-repeats-fault"');
      const nothing = await post('/maintenance/new', planned({ 'monitors[]': [] }));
      expect(nothing.text).toContain('name at least one monitor or group');
      expect((await web.sql`select 1 from maintenance_windows`).length).toBe(0);
    });
  });

  describe('a window', () => {
    test('is created, listed, shown to viewers, and its form shows it again', async () => {
      const address = await made({ repeats: 'monthly_last', until: '2031-03-24' });
      expect((await get('/maintenance')).text).toContain('<h1>1 window upcoming</h1>');
      const { text } = await get(address, web.house.viewer);
      expect(text).toContain('Upgrade starts in 3 days 15 h');
      expect(text).toContain('<dd>Every month on the last Sunday, until 24 March 2031</dd>');
      expect(text).toContain('Your role can only view it');
      expect(text).not.toContain(`action="${address}/start"`);
      const form = (await get(`${address}/edit`)).text;
      for (const shown of [
        'value="monthly_last" selected',
        'value="2031-03-24"',
        'value="2030-03-24T02:30"',
        `value="${monitor}" checked`,
      ])
        expect(form).toContain(shown);
      const changed = await post(`${address}/edit`, planned({ name: '', repeats: 'once' }));
      expect(changed.status).toBe(303);
      const now = (await get(address)).text;
      expect(now).toContain('Maintenance of Job starts in');
      expect(now.split('Affected monitors')[1]).toContain('>Job</a>');
    });

    test('that begins in the night of a clock change keeps the times that were typed', async () => {
      const address = await made({
        ...{ starts_at: '2030-03-31T02:30', ends_at: '2030-03-31T03:30' },
        ...{ repeats: 'weekly', 'days[]': 'SU' },
      });
      const { text } = await get(address);
      expect(text.replaceAll(/\s+/g, ' ')).toContain('<dd>1 h</dd>');
      expect(text).toContain('it begins at 03:30');
      const form = (await get(`${address}/edit`)).text;
      expect(form).toContain('value="2030-03-31T02:30"');
      expect(form).toContain('value="2030-03-31T03:30"');
    });

    test('starts now, ends now, and is then among the past ones', async () => {
      const address = await made({ name: 'Now', when: 'now', for_s: '7200' });
      expect((await get(address)).text).toContain('Now: 2 h left');
      expect((await get('/maintenance')).text).toMatch(/<h1>1 window active.*2 h left/);
      expect((await get('/')).text).toContain('Maintenance');
      now += 600_000;
      expect((await post(`${address}/end`, {})).headers.get('location')).toBe(address);
      now += 600_000;
      const { text } = await get(address);
      expect(text).toContain('Now ended 10 min ago');
      expect((await get('/maintenance?over=true')).text).toContain('>Now</a>');
      const late = await post(`${address}/end`, {});
      expect([late.status, late.headers.get('location')]).toEqual([303, address]);
      const again = await post(`${address}/start`, {});
      expect(again.headers.get('location')).not.toBe(address);
      expect((await get(again.headers.get('location') ?? '')).text).toContain('Now: 10 min left');
    });

    test('is deleted from a page of its own, which says what stays', async () => {
      const address = await made({ name: 'Mistake' });
      expect((await get(`${address}/delete`)).text).toContain(
        'Past maintenance still counts as maintenance',
      );
      expect((await post(`${address}/delete`, {})).headers.get('location')).toBe('/maintenance');
      expect((await get(address)).status).toBe(404);
    });

    test('of a monitor is one step from its page', async () => {
      expect((await get(`/monitors/${monitor}`)).text).toContain(
        `/maintenance/new?when=now&amp;monitor=${monitor}`,
      );
      expect((await get(`/monitors/${monitor}`, web.house.viewer)).text).not.toContain(
        '/maintenance/new',
      );
    });
  });
});

/** The picker of a window's repetition, and the rule behind each choice. */
describe('values', () => {
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
      [
        { repeats: 'monthly_last', until: '2027-06-01' },
        'FREQ=MONTHLY;BYDAY=-1TU;UNTIL=20270601',
        starts_at,
      ],
      [{ repeats: 'own', rrule: 'FREQ=HOURLY;INTERVAL=6' }, 'FREQ=HOURLY;INTERVAL=6', starts_at],
    ] as const)('%o is %s, and is read back as the same', (choice, rule, starts) => {
      expect(ruleIn(formOf({ starts_at: starts, ...choice }))).toBe(rule);
      const { repeats, days, until, rrule } = chosenOf(rule === '' ? null : rule, starts);
      const again = formOf({ starts_at: starts, repeats, 'days[]': days, until, rrule });
      expect(repeats).toBe(choice.repeats);
      expect(ruleIn(again)).toBe(rule);
    });

    test('of the fifth such weekday of a month is the last, because most months have no fifth', () => {
      expect(ruleIn(formOf({ starts_at: '2026-12-29T02:00', repeats: 'monthly_nth' }))).toBe(
        'FREQ=MONTHLY;BYDAY=-1TU',
      );
    });

    test.each([
      'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO',
      'FREQ=DAILY;COUNT=5',
      'FREQ=DAILY;UNTIL=20271231T020000Z',
      'FREQ=MONTHLY;BYDAY=2WE',
      'FREQ=YEARLY',
    ])('that is none of the presets, as %s, is a custom rule and stays as it is', (rule) => {
      const chosen = chosenOf(rule, starts_at);
      expect(chosen).toMatchObject({ repeats: 'own', rrule: rule });
      expect(ruleIn(formOf({ starts_at, ...chosen }))).toBe(rule);
    });
  });

  test('the form of a new one proposes an hour that is to come, on the clock of the organisation', () => {
    const form = formOfNew({ monitor: 'm' }, 'Europe/Berlin', Date.parse('2026-11-22T22:40:00Z'));
    expect([form.value('starts_at'), form.value('ends_at'), form.value('when')]).toEqual([
      '2026-11-23T01:00',
      '2026-11-23T02:00',
      'planned',
    ]);
    expect(form.values('monitors[]')).toEqual(['m']);
  });

  test('begins on the first weekday that was chosen, with the length that was typed', () => {
    const timesOf = (more: Readonly<Record<string, string | readonly string[]>>) => {
      // A Monday.
      const typed = { starts_at: '2026-11-23T23:00', ends_at: '2026-11-24T01:00' };
      const input = inputIn(formOf({ when: 'planned', ...typed, ...more }), 0);
      return [input.starts_at, input.ends_at];
    };
    const sunday = ['2026-11-29T23:00', '2026-11-30T01:00'];
    const monday = ['2026-11-23T23:00', '2026-11-24T01:00'];
    expect(timesOf({ repeats: 'weekly', 'days[]': ['SU'] })).toEqual(sunday);
    expect(timesOf({ repeats: 'weekly', 'days[]': ['MO', 'SU'] })).toEqual(monday);
    expect(timesOf({ repeats: 'weekly' })).toEqual(monday);
    expect(timesOf({ repeats: 'once', 'days[]': ['SU'] })).toEqual(monday);
    const saturday = { starts_at: '2026-11-28T23:00', ends_at: '2026-11-29T01:00' };
    expect(timesOf({ repeats: 'weekdays', ...saturday })[0]).toBe('2026-11-30T23:00');
  });

  test('one from now on is once, and as long as was chosen, whatever the rest of the form says', () => {
    const now = Date.parse('2026-11-22T22:40:00Z');
    const input = inputIn(formOf({ when: 'now', for_s: 1800, repeats: 'daily', starts_at }), now);
    expect(input).toMatchObject({
      starts_at: '2026-11-22T22:40:00.000Z',
      ends_at: '2026-11-22T23:10:00.000Z',
      rrule: '',
    });
  });
});
