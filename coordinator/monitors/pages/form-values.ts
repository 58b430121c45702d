import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../../shared/base/json.ts';
import type { Form } from '../../web/form-data.ts';
import {
  type Choice,
  checkField,
  choiceField,
  type FormState,
  fieldGroup,
  hiddenField,
  selectField,
  textArea,
  textField,
} from '../../web/forms.ts';
import { type Html, html, type Part } from '../../web/html.ts';

/**
 * How a value of a config is written in a form, drawn and read from it. A number where one is meant
 * is made one; other text goes unchanged to the gate, whose refusal says what is valid.
 */
export type Widget = {
  readonly write: (stored: unknown) => Fields;
  readonly read: (sent: Sent) => Reading;
  /** null where there is nothing to choose. */
  readonly draw: (field: FieldView) => Html | null;
  /** It needs little room, and is shown in pairs. */
  readonly isShort?: true;
  /** How its value is written, for its help. */
  readonly how?: string;
  /** What it shows while nothing is stored; the default is nothing, with the default beside it. */
  readonly unset?: 'initial' | 'locations';
  /** A value in the summary of its fold. */
  readonly said?: (value: string) => string;
};

/** The fields of one setting, by the part of their name after the setting's name. */
export type Fields = Readonly<Record<string, readonly string[]>>;
export type Sent = (suffix: string) => readonly string[];

/** The value that was meant; undefined: none. */
export type Reading = { readonly value: unknown } | { readonly fault: string } | undefined;

/** What a monitor can be checked from. */
export type Locations = {
  readonly choices: readonly Choice[];
  /** What is ticked while nothing is chosen: every continent. */
  readonly usual: readonly string[];
  /** The names of private places in a config, by their ids. */
  readonly own: ReadonlyMap<string, string>;
};

/** A setting as its field shows it. */
export type FieldView = {
  readonly name: string;
  readonly label: string;
  readonly state: FormState;
  readonly help: Part;
  readonly placeholder: string;
  /** The values of a key that has few. */
  readonly choices: readonly string[];
  readonly locations: Locations;
};

/** One field with one text. */
function field(
  draw: Widget['draw'],
  read: (text: string) => unknown = (text) => text,
  write = scalarText,
): Widget {
  return {
    write: (stored) => ({ '': [write(stored)] }),
    read: (sent) => {
      const text = last(sent).trim();
      return text === '' ? undefined : { value: read(text) };
    },
    draw,
  };
}

const plainText: Widget['draw'] = (drawn) => textField({ ...drawn, autocomplete: 'off' });
const area: Widget['draw'] = (drawn) => textArea({ ...drawn, code: true, rows: 2 });

export function number(unit: string): Widget {
  return {
    ...field(
      (drawn) => textField({ ...drawn, unit, inputmode: 'numeric', autocomplete: 'off' }),
      numberOr,
    ),
    isShort: true,
  };
}

/** `none`: what it is not to choose, where a key has no default. */
export function choice(words: Readonly<Record<string, string>> = {}, none?: string): Widget {
  return {
    ...field(({ choices, ...drawn }) =>
      selectField({
        ...drawn,
        choices: [
          ...(none === undefined ? [] : [{ value: '', label: none }]),
          ...choices.map((each) => ({ value: each, label: words[each] ?? each })),
        ],
      }),
    ),
    isShort: true,
    ...(none === undefined ? { unset: 'initial' as const } : {}),
  };
}

/** A number of seconds: some in words, and whatever else was stored. */
export function seconds(words: ReadonlyMap<string, string>): Widget {
  return {
    ...field((drawn) => {
      const chosen = drawn.state.form.value(drawn.name) ?? '';
      const other = chosen === '' || words.has(chosen) ? [] : [[chosen, `${chosen} s`] as const];
      const choices = [...words, ...other].map(([value, label]) => ({ value, label }));
      return selectField({ ...drawn, choices });
    }, numberOr),
    isShort: true,
    unset: 'initial',
    said: (value) => words.get(value) ?? `${value} s`,
  };
}

export const yesNo: Widget = {
  ...field(
    (drawn) => html`${hiddenField(drawn.name, 'false')}${checkField(drawn)}`,
    (text) => text === 'true',
  ),
  isShort: true,
  unset: 'initial',
};

export const text: Widget = { ...field(plainText), isShort: true };

export const secret: Widget = field(({ placeholder: _, ...drawn }) =>
  textField({ ...drawn, type: 'password', comesBack: true, autocomplete: 'new-password' }),
);

/** Has lines, so no password field can hold it. What is stored comes back as a mask. */
export const certificate: Widget = field((drawn) =>
  area({ ...drawn, placeholder: '-----BEGIN CERTIFICATE-----' }),
);

export const body: Widget = exactly(area);

/** Spaces matter. */
function exactly(draw: Widget['draw']): Widget {
  return {
    ...field(draw),
    read: (sent) => (last(sent) === '' ? undefined : { value: last(sent) }),
  };
}
export const exactLine: Widget = exactly(plainText);

export const lines: Widget = {
  ...field(area, linesFrom, (stored) => {
    const list = isText(stored)
      ? [stored]
      : Array.isArray(stored)
        ? stored.filter(isText)
        : undefined;
    return list === undefined ? '' : linesText(list);
  }),
  how: 'One per line.',
};

export const pairs: Widget = {
  write: (stored) => {
    const all = isRecord(stored)
      ? Object.entries(stored).filter((pair): pair is [string, string] => isText(pair[1]))
      : undefined;
    return { '': [all === undefined ? '' : pairsText(all)] };
  },
  read: (sent) => {
    const whole = last(sent).trim();
    if (whole === '') return undefined;
    const read = pairsFrom(whole);
    if (!('unread' in read)) return { value: Object.fromEntries(read) };
    const fault = read.twice
      ? `Name each header once; "${brief(read.unread)}" stands here twice.`
      : `Write each line as Name: value; "${brief(read.unread)}" has no colon.`;
    return { fault };
  },
  draw: area,
  how: 'One per line, such as Name: value.',
};

export const statuses: Widget = {
  write: (stored) => ({ '': [Array.isArray(stored) ? stored.map(String).join(', ') : ''] }),
  read: (sent) => {
    const all = last(sent)
      .replaceAll(/\s*-\s*/g, '-')
      .split(/[,;\s]+/)
      .filter((each) => each !== '');
    return all.length === 0 ? undefined : { value: all.map(numberOr) };
  },
  draw: plainText,
  isShort: true,
  how: 'Comma-separated.',
};

export const credentials: Widget = {
  write: (stored) => {
    const of = isRecord(stored) ? stored : {};
    return { '.username': [scalarText(of.username)], '.password': [scalarText(of.password)] };
  },
  read: (sent) => {
    const [username, password] = [last(sent, '.username'), last(sent, '.password')];
    return username === '' && password === '' ? undefined : { value: { username, password } };
  },
  draw: ({ name, state, help }) =>
    html`
      ${textField({
        name: `${name}.username`,
        label: 'User name',
        state,
        help,
        autocomplete: 'off',
      })}
      ${textField({
        name: `${name}.password`,
        label: 'Password',
        state,
        type: 'password',
        comesBack: true,
        autocomplete: 'new-password',
      })}
    `,
};

/** Any of a few words; none is as good as not given. */
export function several(words: Readonly<Record<string, string>>): Widget {
  return {
    write: (stored) => ({ '[]': Array.isArray(stored) ? stored.filter(isText) : [] }),
    read: (sent) => {
      const all = sent('[]').filter((each) => each !== '');
      return all.length === 0 ? undefined : { value: all.toSorted() };
    },
    draw: ({
      locations: _locations,
      choices: _choices,
      placeholder: _placeholder,
      name,
      ...drawn
    }) => html`
    ${hiddenField(`${name}[]`, '')}
    ${choiceField({
      ...drawn,
      name: `${name}[]`,
      choices: Object.entries(words).map(([value, label]) => ({ value, label })),
      several: true,
    })}
  `,
  };
}

/** A number of milliseconds, and whether more is a failure: a value of `failures`, as ticked there. */
export function slowAfter(failures: string): Widget {
  const limit = number('ms');
  return {
    ...limit,
    draw: (drawn) => {
      const fails = drawn.state.form.values(failures).includes('slow');
      return html`
        <div class="fields slow-after">
        ${limit.draw(drawn)}
        <div class="field">
          <label for="field-slow">Treat as</label>
          <select id="field-slow" name="${failures}">
            <option value="">Warning</option>
            <option value="slow"${fails && html` selected`}>Failure</option>
          </select>
        </div>
        </div>
      `;
    },
  };
}

/** For what few need: an empty one is not shown, and stays empty. */
export function onlyWhereSet(widget: Widget): Widget {
  return {
    ...widget,
    draw: (drawn) =>
      drawn.state.form.value(drawn.name) ? widget.draw(drawn) : hiddenField(drawn.name, ''),
  };
}

/** A number that is the one key of an object. */
export function numberIn(key: string, unit: string): Widget {
  const inside = number(unit);
  return {
    ...inside,
    write: (stored) => inside.write(isRecord(stored) ? stored[key] : undefined),
    read: (sent) => {
      const reading = inside.read(sent);
      return reading && 'value' in reading ? { value: { [key]: reading.value } } : reading;
    },
  };
}

const maxAssertions = 20;

const assertionWords = {
  equals: 'equals',
  contains: 'contains',
  gt: 'greater than',
  lt: 'less than',
  exists: 'exists',
  missing: 'does not exist',
} as const;

/** Paths in JSON with what must be there, one a row. */
export const assertions: Widget = {
  write: (stored) =>
    Object.fromEntries(
      (Array.isArray(stored) ? stored : []).flatMap(rowsOf).flatMap(([path, is, of], at) => [
        [`.${at}.path`, [path]],
        [`.${at}.is`, [is]],
        [`.${at}.value`, [of]],
      ]),
    ),
  read: (sent) => {
    const rows = Array.from(
      { length: maxAssertions },
      (_, at): Row => [
        last(sent, `.${at}.path`).trim(),
        last(sent, `.${at}.is`),
        last(sent, `.${at}.value`),
      ],
    ).filter(([path, , of]) => path !== '' || of !== '');
    return rows.length === 0 ? undefined : { value: rows.map(assertionOf) };
  },
  draw: (drawn) =>
    fieldGroup({
      ...drawn,
      help: html`
        ${drawn.help} A value is a
        number, <code>true</code>, <code>false</code> or <code>null</code> where it reads as one,
        else a text; in quotes it is a text.
      `,
      inside: assertionRows(drawn),
    }),
};

function assertionRows({ name, state: { form } }: FieldView): Html {
  const filled = Array.from({ length: maxAssertions }, (_, at) => at).filter(
    (at) => form.value(`${name}.${at}.path`) || form.value(`${name}.${at}.value`),
  );
  const rows = Math.min(maxAssertions, Math.max(2, (filled.at(-1) ?? -1) + 2));
  return html`
    <div>
      ${Array.from({ length: rows }, (_, at) => assertionRow(`${name}.${at}`, form, at))}
    </div>
    ${
      rows < maxAssertions &&
      html`<button class="button" name="act" value="more" data-stays>Add condition</button>`
    }
  `;
}

function assertionRow(name: string, form: Form, at: number): Html {
  const chosen = form.value(`${name}.is`) ?? 'equals';
  return html`
    <div class="assertion">
      <input
        name="${name}.path"
        value="${form.value(`${name}.path`) ?? ''}"
        placeholder="$.status"
        aria-label="Path ${at + 1}"
        autocomplete="off"
        spellcheck="false"
      > <select name="${name}.is" aria-label="How ${at + 1}">
        ${Object.entries(assertionWords).map(
          ([is, words]) =>
            html`<option value="${is}"${is === chosen && html` selected`}>${words}</option>`,
        )}
      </select>
      <input
        name="${name}.value"
        value="${form.value(`${name}.value`) ?? ''}"
        placeholder="${at === 0 && 'ok'}"
        aria-label="Value ${at + 1}"
        autocomplete="off"
        spellcheck="false"
      >
    </div>
  `;
}

function isText(of: unknown): of is string {
  return typeof of === 'string';
}

function last(sent: Sent, suffix = ''): string {
  return (sent(suffix).at(-1) ?? '').replaceAll('\r\n', '\n');
}

function scalarText(of: unknown): string {
  return of === undefined || of === null ? '' : isText(of) ? of : JSON.stringify(of);
}

function numberOr(text: string): number | string {
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

/** One per line; as JSON where lines cannot express it. */
export function linesText(list: readonly string[]): string {
  return plainOr(list.join('\n'), list, linesFrom);
}

/** The plain text where it is read as what it was written from, else JSON. */
function plainOr(
  text: string,
  written: unknown,
  read: (text: string) => unknown,
  json = written,
): string {
  return text !== '' && isDeepStrictEqual(read(text), written) ? text : JSON.stringify(json);
}

export function linesFrom(text: string): readonly string[] {
  const list = text.trimStart().startsWith('[') ? parsed(text) : undefined;
  return Array.isArray(list) && list.every(isText) ? list : linesIn(text);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Then the text is meant literally.
  }
}

function linesIn(text: string): readonly string[] {
  const all = text.split('\n').map((line) => line.trim());
  return all.filter((line) => line !== '');
}

type Pairs = readonly (readonly [string, string])[];

/** `Name: value`, one per line; as JSON where lines cannot express it. */
export function pairsText(all: Pairs): string {
  const text = all.map(([name, of]) => `${name}: ${of}`.trimEnd()).join('\n');
  return plainOr(text, all, pairsFrom, Object.fromEntries(all));
}

/** The unreadable line, if there is one. */
export function pairsFrom(
  text: string,
): Pairs | { readonly unread: string; readonly twice: boolean } {
  const map = text.trimStart().startsWith('{') ? parsed(text) : undefined;
  if (isRecord(map) && Object.values(map).every(isText))
    return Object.entries(map).map(([name, of]) => [name, String(of)]);
  const all: [string, string][] = [];
  for (const line of linesIn(text)) {
    const [, name, of] = /^([^:]*[^:\s])\s*:(.*)$/s.exec(line) ?? [];
    if (name === undefined || of === undefined) return { unread: line, twice: false };
    if (all.some(([before]) => before === name)) return { unread: name, twice: true };
    all.push([name, of.trim()]);
  }
  return all;
}

function brief(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

type Row = readonly [path: string, is: string, of: string];

function rowsOf(assertion: unknown): Row[] {
  if (!isRecord(assertion)) return [];
  const path = scalarText(assertion.path);
  return Object.entries(assertion).flatMap(([is, of]): Row[] => {
    if (is === 'path' || of === undefined) return [];
    if (is === 'exists') return [[path, of === false ? 'missing' : 'exists', '']];
    return [[path, is, is === 'equals' ? equalText(of) : scalarText(of)]];
  });
}

/** A text that would be read as something else is quoted. */
function equalText(of: unknown): string {
  return isText(of) && of === of.trim() ? plainOr(of, of, equalFrom) : JSON.stringify(of ?? null);
}

function equalFrom(text: string): unknown {
  const of = parsed(text.trim());
  // A JavaScript number would lose its last digits; checks compare those of a text.
  if (/^-?\d+$/.test(text.trim()) && !Number.isSafeInteger(of)) return text.trim();
  return of === undefined || (typeof of === 'object' && of !== null) ? text : of;
}

function assertionOf([path, is, of]: Row): unknown {
  if (is === 'exists' || is === 'missing') return { path, exists: is === 'exists' };
  return {
    path,
    [is]: is === 'equals' ? equalFrom(of) : is === 'gt' || is === 'lt' ? numberOr(of.trim()) : of,
  };
}
