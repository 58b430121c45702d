import type { Json } from '../../shared/checks/result.ts';
import { mask } from '../../shared/checks/secrets.ts';

/** Text that a database and a page can hold: no control characters but line breaks and tabs, no halves of characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out.
const clean = (text: string): string => text.toWellFormed().replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, '\ufffd');

/** So much of a secret's beginning, at the end of a text, is no accident. */
const leastBegun = 4;

/** Where a secret begins that the end of the text cuts off; the length of the text when none does. */
const begunAt = (text: string, secret: string): number => {
  const beginning = secret.slice(0, leastBegun);
  let at = text.indexOf(beginning, Math.max(0, text.length - secret.length));
  while (at >= 0 && !secret.startsWith(text.slice(at))) at = text.indexOf(beginning, at + 1);
  return at < 0 ? text.length : at;
};

/** Texts of a target as evidence may hold them: without secrets, and only then cut. */
export type Scrub = {
  (text: string, most: number): string;
  /** So much of a text is enough to show `most` of it, although secrets make it shorter. */
  readonly enough: (most: number) => number;
  /** Any value as one text. */
  readonly value: (json: Json, most: number) => string;
  /** Bytes that are nobody's text, with a sign for each that cannot be shown. */
  readonly bytes: (bytes: Uint8Array, most: number) => string;
};

const signs: Readonly<Record<string, string>> = { '\r': '\\r', '\n': '\\n', '\t': '\\t' };
const signOf = (one: string): string => signs[one] ?? `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`;

/** A server may send back what it was sent: secrets of the config must not come to rest in evidence, not even the half of one. */
export const scrubber = (secrets: readonly string[]): Scrub => {
  // As it is, as an address has it, and as bytes that are read one by one.
  const formsOf = (secret: string) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString('latin1')];
  const forms = [...new Set(secrets.flatMap(formsOf))];
  const longest = Math.max(0, ...forms.map((form) => form.length));
  const without = (text: string): string => {
    const rest = forms.reduce((whole, form) => whole.replaceAll(form, mask), text);
    // What was cut off in the midst of a character ends with the sign for that.
    const end = rest.replace(/\ufffd+$/, '');
    const begun = Math.min(...forms.map((form) => begunAt(end, form)));
    return begun < end.length ? `${end.slice(0, begun)}${mask}` : rest;
  };
  const scrub = (text: string, most: number): string => clean(without(text)).slice(0, most).toWellFormed();
  const value = (json: Json, most: number): string =>
    typeof json === 'string'
      ? scrub(json, most)
      : scrub(
          JSON.stringify(json, (_key, inside: unknown) => (typeof inside === 'string' ? without(inside) : inside)),
          most,
        );
  const bytes = (raw: Uint8Array, most: number): string =>
    without(Buffer.from(raw).toString('latin1'))
      .slice(0, most)
      .replaceAll(/[^\x20-\x7e]/g, signOf);
  return Object.assign(scrub, { enough: (most: number) => 2 * (most + longest), value, bytes });
};
