import { drawing } from './assets.ts';

/**
 * HTML that is safe by construction: text in a template is escaped; only the result of a template
 * is not. A value of any other type (an object, a date, a promise) does not compile. A hole may be
 * in text, in a quoted attribute, or, for HTML, between attributes;
 * test/coordinator/web/templates.test.ts checks every template.
 */
export class Html {
  readonly #text: string;

  constructor(text: string, made: typeof byTemplate) {
    if (made !== byTemplate) throw new TypeError('only a template makes HTML');
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** Private to this file, so that no text can be declared HTML elsewhere. */
const byTemplate: unique symbol = Symbol('made by a template');

/** What a hole of a template accepts. Null and false leave it empty. */
export type Part = string | number | Html | null | undefined | false | readonly Part[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** White space with a line break in it: how the source is laid out. */
const lineBreaks = /\s*\n\s*/g;

/** Each template is read once, the first time it is used. */
const read = new WeakMap<TemplateStringsArray, readonly string[]>();

/**
 * A template may be laid out as JSX is: a line break, with the white space around it, is dropped
 * beside a tag or a hole, and is one space within text or within a tag.
 */
export function html(template: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let texts = read.get(template);
  if (texts === undefined) {
    texts = withoutLayout(template);
    read.set(template, texts);
  }
  let text = texts[0] ?? '';
  for (let at = 0; at < parts.length; at += 1) text += textOf(parts[at]) + (texts[at + 1] ?? '');
  return new Html(text, byTemplate);
}

/** With NUL for a hole, which no template contains. */
function withoutLayout(texts: readonly string[]): readonly string[] {
  return texts
    .join('\0')
    .replace(/<[a-z!/](?:"[^"]*"|[^">])*>/gi, (tag) =>
      tag.replace(/\s*\n\s*(\/?>)$/, '$1').replace(lineBreaks, ' '),
    )
    .replace(/(?<=^|[>\0])\s*\n\s*|\s*\n\s*(?=$|[<\0])/g, '')
    .replace(lineBreaks, ' ')
    .split('\0');
}

function textOf(part: Part): string {
  if (typeof part === 'string') return escaped(part);
  if (part instanceof Html) return part.toString();
  if (typeof part === 'number') return String(part);
  if (part === null || part === undefined || part === false) return '';
  let text = '';
  for (const each of part) text += textOf(each);
  return text;
}

/** NUL is not a character of HTML: parsers turn it into U+FFFD, and so do we. */
function escaped(text: string): string {
  return /[&<>"'\0]/.test(text)
    ? text.replaceAll(/[&<>"'\0]/g, (mark) => entities[mark] ?? '\uFFFD')
    : text;
}

/** A list with a separator between each two items. */
export function joined(parts: readonly Part[], between: Part): readonly Part[] {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [between, part]));
}

/**
 * An address that is safe in `href`: a path of ours or a place on the page, or a web or mail address; anything else, such
 * as `javascript:`, leads nowhere.
 */
export function safeUrl(address: string): string {
  if (/^#[\w-]+$/.test(address)) return address;
  // Browsers drop tabs and line breaks inside, and treat a backslash as a slash.
  if (/[\t\n\r\\]/.test(address)) return '#';
  if (/^\/(?!\/)/.test(address)) return address;
  return /^(https?:\/\/|mailto:)/i.test(address) ? address : '#';
}

/** An address as a header can hold it: Node refuses most other characters there. */
export function asciiOf(address: string): string {
  return address.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/** `?a=1&b=2` of the values present; empty without any. */
export function query(
  values: Readonly<Record<string, string | number | null | undefined>>,
): string {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    value === null || value === undefined || value === ''
      ? []
      : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** The symbols of assets/icons.svg; a test keeps both lists the same. */
export const iconNames = [
  'brand',
  'up',
  'verifying',
  'down',
  'maintenance',
  'unknown',
  'paused',
  'pending',
  'none',
  'monitors',
  'incidents',
  'status-pages',
  'alerts',
  'probes',
  'groups',
  'members',
  'tokens',
  'organisation',
  'audit',
  'profile',
  'search',
  'add',
  'close',
  'check',
  'next',
  'previous',
  'open',
  'upwards',
  'downwards',
  'switch',
  'leave',
  'copy',
  'share',
  'see',
  'edit',
  'delete',
  'play',
  'pause',
  'again',
  'send',
  'clock',
  'call',
  'globe',
  'mail',
  'lock',
  'phone',
  'note',
  'more',
  'grip',
  'information',
  'calendar',
  'port',
  'exchange',
  'power',
  'onwards',
] as const;

export type IconName = (typeof iconNames)[number];

const address = drawing('icons.svg');

const icons = new Map(iconNames.map((name) => [name, symbolOf(address, name)]));

/** A symbol of a drawing that is not on every page. */
export function symbolOf(drawn: string, name: string): Html {
  return html`
    <svg class="icon" aria-hidden="true"><use href="${safeUrl(`${drawn}#${name}`)}"></use></svg>
  `;
}

/** A symbol beside words with the same meaning; screen readers skip it. */
export function icon(name: IconName): Html {
  return icons.get(name) ?? html``;
}
