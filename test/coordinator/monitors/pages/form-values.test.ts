import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  configFrom,
  emptyForm,
  formOfConfig,
} from '../../../../coordinator/monitors/pages/form-config.ts';
import { locationsFor } from '../../../../coordinator/monitors/pages/form-locations.ts';
import {
  linesFrom,
  linesText,
  pairsFrom,
  pairsText,
} from '../../../../coordinator/monitors/pages/form-values.ts';
import { formOf } from '../../../../coordinator/web/form-data.ts';
import { kinds } from '../../../../shared/api/config-keys.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { createLog } from '../../../../shared/base/log.ts';
import { eventually } from '../../../support/eventually.ts';
import { createTestOrganisation } from '../../../support/people.ts';
import fc from '../../../support/random.ts';
import { createTestRunsByHand } from '../../../support/trials.ts';
import {
  hostile,
  type MonitorForms,
  monitorForms,
  sameSite,
  startWeb,
  type TestWeb,
  wanted,
} from '../../../support/web.ts';

/** How values of a config are written in the fields of a form, and read from there. */

const asia = locationsFor({ continents: ['Asia'], regions: [], places: [] });

describe('the input of the form', () => {
  const anyText = fc.string({ unit: 'grapheme', minLength: 0, maxLength: 30 });
  const line = fc.oneof(anyText, fc.constantFrom('[]', '["a"]', '{}', ' a', 'a\nb', ''));

  test('lines are the list that they were written from, whatever they contain', () => {
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), (list) => {
        expect(linesFrom(linesText(list))).toEqual(list);
      }),
    );
  });

  test('so are pairs', () => {
    const name = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,12}$/);
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(name, line), { minLength: 1, selector: ([each]) => each }),
        (pairs) => {
          expect(Object.fromEntries(pairsFrom(pairsText(pairs)) as [string, string][])).toEqual(
            Object.fromEntries(pairs),
          );
        },
      ),
    );
  });

  test('also with a line separator in them, which no browser treats as a new line', () => {
    const pairs: readonly (readonly [string, string])[] = [
      ['X-Note', 'one\u2028two'],
      ['X-Other', 'a\u2029b'],
    ];
    expect(pairsFrom(pairsText(pairs))).toEqual(pairs);
  });

  test('equal values are of the type that they were', () => {
    const scalar = fc.oneof(
      anyText,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.constantFrom('5', 'true', 'null', '"5"', ' x '),
    );
    fc.assert(
      fc.property(scalar, (equals) => {
        const json = [{ path: '$.a', equals }];
        const shown = formOfConfig('https', { json }, asia);
        const other = formOf({
          ...shown,
          'config.json.1.path': '$.b',
          'config.json.1.is': 'exists',
          'config.json.1.value': '',
        });
        expect(configFrom('https', other, { json }, asia).config.json).toEqual([
          { path: '$.a', equals },
          { path: '$.b', exists: true },
        ]);
      }),
    );
  });

  test.each(['12345678901234567890', '-9007199254740993'])('%s is kept by its digits', (digits) => {
    const equalsOf = (value: string) =>
      configFrom(
        'https',
        formOf({
          'config.json.0.path': '$.id',
          'config.json.0.is': 'equals',
          'config.json.0.value': value,
        }),
        {},
        asia,
      ).config;
    expect(equalsOf(digits)).toEqual({ json: [{ path: '$.id', equals: digits }] });
    expect(equalsOf('9007199254740991')).toEqual({
      json: [{ path: '$.id', equals: 9_007_199_254_740_991 }],
    });
  });

  test('an empty form is an empty config', () => {
    for (const kind of kinds)
      expect(configFrom(kind, emptyForm(kind, asia, {}), {}, asia)).toEqual({
        config: {},
        faults: new Map(),
      });
  });
});

/**
 * Rule 41 on a page: a monitor is tried before it is saved, and what every continent sees is shown
 * as it comes.
 */
describe('a test run', () => {
  const trials = createTestRunsByHand([
    { continent: 'Europe', probe: 'Frankfurt' },
    { continent: 'Asia', probe: 'Singapore' },
  ]);
  const logged: unknown[] = [];
  let web: TestWeb;
  let forms: MonitorForms;

  beforeAll(async () => {
    web = await startWeb({
      trials: trials.part,
      log: {
        ...createLog({ name: 'web', level: 'silent' }),
        error: (entry: unknown) => logged.push(entry),
      },
    });
    forms = monitorForms(web);
    for (const [at, continent] of ['Europe', 'Asia'].entries())
      await web.sql`insert into probes (id, name, continent) values (${newId()}, ${`probe ${at}`}, ${continent})`;
  });
  afterAll(() => web.close());

  test('shows each answer as it comes, keeps the values, and stores nothing', async () => {
    const before = await web.sql`select count(*) from monitors`;
    const body = new URLSearchParams({
      ...wanted,
      act: 'try',
      'config.bearer_token': 'hush',
      name: hostile,
    });
    const cookie = await web.cookieOf('member');
    const answer = await fetch(`${web.url}/monitors/new`, {
      method: 'POST',
      body,
      headers: { cookie, ...sameSite, 'accept-encoding': 'identity' },
    });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const until = async (words: string): Promise<void> => {
      while (!text.includes(words)) {
        const piece = await reader?.read();
        if (!piece || piece.done) throw new Error(`it ended without "${words}"`);
        text += piece.value;
      }
    };
    await until('id="waiting-1"');
    expect(text).toContain('Test from Europe and Asia');
    expect(text).toMatch(/type="password" value="hush"/);
    expect(text).not.toContain('<img');
    expect(trials.wanted.at(-1)).toMatchObject({
      target: wanted.target,
      kind: 'https',
      secrets: { bearer_token: 'hush' },
    });
    trials.answer('Asia', { took_ms: 212 });
    await until('id="answer-1"');
    expect(text).not.toContain('id="answer-0"');
    trials.answer('Europe', {
      outcome: 'fail',
      cause: { class: 'unexpected_status', params: { status: 503, expected: '2xx' } },
      evidence: { status: 503, body: hostile },
    });
    await until('</html>');
    expect(text).toContain('Failed from Europe, passed from Asia.');
    expect(text).toContain('&lt;img src=x');
    expect(text).not.toContain('<img');
    expect(await web.sql`select count(*) from monitors`).toEqual(before);
  });

  test('says who did not answer, and comes as small as the browser takes it', async () => {
    const asked = web.post(
      '/monitors/new',
      { ...wanted, act: 'try' },
      { as: 'member', headers: sameSite, encoding: 'br' },
    );
    const count = trials.wanted.length;
    await eventually(async () => trials.wanted.length > count || undefined);
    trials.answer('Europe');
    trials.end();
    const { headers, text } = await asked;
    expect(headers.get('content-encoding')).toBe('br');
    expect(text).toContain('No answer');
    expect(text).toContain('Passed from Europe. The others gave no result.');
    expect(text.trimEnd().endsWith('</html>')).toBe(true);
  });

  test('that is lost on the way says so, and the page is complete all the same', async () => {
    for (const how of ['forgotten', 'failing'] as const) {
      const count = trials.wanted.length;
      const asked = forms.post('/monitors/new', { ...wanted, act: 'try' }, web.house.member);
      await eventually(async () => trials.wanted.length > count || undefined);
      trials.answer('Europe');
      trials.lose(how);
      const { status, text } = await asked;
      expect([how, status, text.includes('The other results were lost. Test again.')]).toEqual([
        how,
        200,
        true,
      ]);
      for (const tag of ['section', 'div', 'ul'])
        expect([tag, text.split(`</${tag}>`).length]).toEqual([
          tag,
          text.split(new RegExp(`<${tag}[ >]`)).length,
        ]);
      expect(text.trimEnd().endsWith('</html>')).toBe(true);
    }
    expect(logged).toMatchObject([{ err: { message: 'the test wanted it to fail' } }]);
  });

  test('of an invalid config says why beside the field, and asks no probe', async () => {
    const count = trials.wanted.length;
    const { status, text } = await forms.post(
      '/monitors/new',
      { ...wanted, act: 'try', target: 'nothing at all' },
      web.house.member,
    );
    expect(status).toBe(400);
    expect(text).toMatch(/<input id="field-target"[^>]* aria-invalid="true"/);
    expect(trials.wanted.length).toBe(count);
  });

  test('with a stored secret needs its own host', async () => {
    const id = await forms.made({ 'config.bearer_token': 'hush-hush' });
    const form = { ...wanted, 'config.bearer_token': '***', act: 'try' };
    const elsewhere = await forms.post(
      `/monitors/${id}/edit`,
      { ...form, target: 'https://evil.example/' },
      web.house.member,
    );
    expect(elsewhere.status).toBe(400);
    expect(elsewhere.text).toContain('A secret belongs to the host that it was given for');
    const asked = forms.post(
      `/monitors/${id}/edit`,
      { ...form, target: 'https://shop.example/other' },
      web.house.member,
    );
    await eventually(async () => trials.wanted.at(-1)?.like?.id === id || undefined);
    expect(trials.wanted.at(-1)?.secrets).toEqual({ bearer_token: 'hush-hush' });
    trials.end();
    expect((await asked).text).not.toContain('hush-hush');
  });

  test('beyond ten in a minute is refused in words', async () => {
    const house = await createTestOrganisation(web.sql);
    const attempts: number[] = [];
    for (let at = 0; at < 11; at += 1) {
      const count = trials.wanted.length;
      const asked = forms.post('/monitors/new', { ...wanted, act: 'try' }, house.member);
      await Promise.race([
        asked,
        eventually(async () => trials.wanted.length > count || undefined),
      ]);
      if (trials.wanted.length > count) trials.end();
      const { status, text } = await asked;
      attempts.push(status);
      if (at === 10) expect(text).toContain('An organisation may run 10 tests a minute');
    }
    expect(attempts).toEqual([...Array.from({ length: 10 }, () => 200), 429]);
  });
});
