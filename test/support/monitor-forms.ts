/** For test files: the form of a monitor, as a browser sends it. */
import { newId } from '../../shared/base/crypto.ts';
import type { Person } from './people.ts';
import type { Answer, TestWeb } from './web.ts';

export type Values = Readonly<Record<string, string | readonly string[]>>;

/** Of a form that is in order. */
export const wanted = { type: 'https', target: 'https://shop.example/checkout', interval_s: '60', act: 'save' } as const;

export const sameSite = { 'sec-fetch-site': 'same-origin' };

/** Would be a picture, and a script, if it were not shown as text. */
export const hostile = '"><img src=x onerror=alert(1)>';

export type Row = {
  readonly id: string;
  readonly name: string;
  readonly target: string;
  readonly interval_s: number;
  readonly config: Readonly<Record<string, unknown>>;
  readonly enabled: boolean;
  readonly group_id: string | null;
};

export type MonitorForms = {
  readonly post: (path: string, form: Values, as: Person) => Promise<Answer>;
  /** Saved by the form; its id. */
  readonly made: (more?: Values, as?: Person) => Promise<string>;
  readonly rowOf: (id: string) => Promise<Row | undefined>;
  readonly rowsNamed: (name: string) => Promise<readonly Row[]>;
};

export const monitorForms = (web: TestWeb): MonitorForms => {
  const post: MonitorForms['post'] = (path, form, as) => web.post(path, form, { as, headers: sameSite });
  const rows = (where: 'id' | 'name', is: string) =>
    web.sql<Row[]>`select id, name, target, interval_s, config, enabled, group_id from monitors where ${web.sql(where)} = ${is}`;
  return {
    post,
    made: async (more = {}, as = web.house.member) => {
      const { status, headers, text } = await post('/monitors/new', { ...wanted, name: `M ${newId()}`, ...more }, as);
      const [, id] = /^\/monitors\/([^#]+)/.exec(headers.get('location') ?? '') ?? [];
      if (status !== 303 || id === undefined) throw new Error(`it was not saved: ${status} ${text}`);
      return id;
    },
    rowOf: async (id) => (await rows('id', id))[0],
    rowsNamed: (name) => rows('name', name),
  };
};

/** What a browser would send back of a page's form without a change. */
export const fieldsIn = (text: string): Record<string, string[]> => {
  const fields: Record<string, string[]> = {};
  const add = (name: string, value: string) => {
    fields[name] = [...(fields[name] ?? []), plain(value)];
  };
  const plain = (value: string) =>
    value.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  const form = text.slice(text.indexOf('id="monitor-form"'), text.indexOf('</form>', text.indexOf('id="monitor-form"')));
  for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(tag)?.[1];
    if (name === undefined || (/type="(checkbox|radio)"/.test(tag) && !/ checked/.test(tag))) continue;
    add(name, /value="([^"]*)"/.exec(tag)?.[1] ?? '');
  }
  for (const [, name = '', value = ''] of form.matchAll(/<textarea[^>]*name="([^"]*)"[^>]*>\n?([^<]*)</g)) add(name, value);
  for (const [, name = '', options = ''] of form.matchAll(/<select[^>]*name="([^"]*)"[^>]*>(.*?)<\/select>/gs))
    add(name, /value="([^"]*)" selected/.exec(options)?.[1] ?? /value="([^"]*)"/.exec(options)?.[1] ?? '');
  return fields;
};
