import { drawing } from './assets.ts';

/**
 * HTML that is safe by construction: a text in a template is escaped, and only what a template made is not. A value that is neither (an object, a
 * date, a promise) does not compile. A hole stands in text, in a quoted attribute, or, when it is itself HTML, between attributes;
 * test/coordinator/web/templates.test.ts reads every template for that.
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

/** Known here alone, so that no text can be declared HTML elsewhere. */
const byTemplate: unique symbol = Symbol('made by a template');

/** What a hole of a template takes. Null and false leave it empty. */
export type Part = string | number | Html | null | undefined | false | readonly Part[];

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** NUL is no character of HTML: parsers make U+FFFD of it, and so do we. */
const escaped = (text: string): string =>
  /[&<>"'\0]/.test(text) ? text.replaceAll(/[&<>"'\0]/g, (mark) => entities[mark] ?? '\uFFFD') : text;

const textOf = (part: Part): string => {
  if (typeof part === 'string') return escaped(part);
  if (part instanceof Html) return part.toString();
  if (typeof part === 'number') return String(part);
  if (part === null || part === undefined || part === false) return '';
  let text = '';
  for (const each of part) text += textOf(each);
  return text;
};

export const html = (texts: TemplateStringsArray, ...parts: readonly Part[]): Html => {
  let text = texts[0] ?? '';
  for (let at = 0; at < parts.length; at += 1) text += textOf(parts[at]) + (texts[at + 1] ?? '');
  return new Html(text, byTemplate);
};

/** A list with something between each two. */
export const joined = (parts: readonly Part[], between: Part): readonly Part[] =>
  parts.flatMap((part, index) => (index === 0 ? [part] : [between, part]));

/** An address that may stand in `href`: a path of ours, or a web or mail address; anything else, such as `javascript:`, leads nowhere. */
export const safeUrl = (address: string): string => {
  // Browsers drop tabs and line breaks inside, and take a backslash for a slash.
  if (/[\t\n\r\\]/.test(address)) return '#';
  if (/^\/(?!\/)/.test(address)) return address;
  return /^(https?:\/\/|mailto:)/i.test(address) ? address : '#';
};

/** `?a=1&b=2` of what is there; nothing when nothing is. */
export const query = (values: Readonly<Record<string, string | number | null | undefined>>): string => {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    value === null || value === undefined || value === '' ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
};

/** The symbols of assets/icons.svg; a test holds both lists to be the same. */
export const iconNames = [
  ...['up', 'verifying', 'down', 'maintenance', 'unknown', 'paused', 'pending', 'none'],
  ...['monitors', 'incidents', 'status-pages', 'alerts', 'probes', 'groups', 'members', 'tokens', 'organisation', 'audit', 'profile'],
  ...['search', 'add', 'close', 'check', 'next', 'previous', 'open', 'upwards', 'downwards', 'switch', 'leave', 'copy', 'share', 'see'],
  ...['edit', 'delete', 'play', 'pause', 'again', 'send', 'clock', 'globe', 'away', 'mail', 'lock', 'device', 'note', 'more'],
  ...['information', 'calendar'],
] as const;

export type IconName = (typeof iconNames)[number];

const address = drawing('icons.svg');

/** A symbol beside words that say the same; it says nothing to who does not see it. */
export const icon = (name: IconName): Html =>
  html`<svg class="icon" aria-hidden="true"><use href="${safeUrl(`${address}#${name}`)}"></use></svg>`;
