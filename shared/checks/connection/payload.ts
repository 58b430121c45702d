import { z } from 'zod';
import type { Config } from '../assignment.ts';
import { mask } from '../config-secrets.ts';
import type { ConfigFault } from '../kind-config.ts';
import { asText, given } from './config.ts';
import { encodings } from './keys.ts';

/** Bytes that a check sends, or wants to come back, as a config writes them. */

export const encodingSchema = z.enum(encodings);
export const payloadSchema = z.string().min(1).max(4_096);

/** With its padding or without. */
export function isBase64(text: string): boolean {
  return /^(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2}(?:==)?|[a-z0-9+/]{3}=?)?$/i.test(text);
}

/** The bytes that `send` or `expect` mean; undefined when it is not written as `encoding` says. */
export function bytesOf(text: string, encoding: string): Buffer | undefined {
  if (encoding === 'hex') {
    const digits = text.replaceAll(/\s+/g, '');
    return /^(?:[0-9a-f]{2})+$/i.test(digits) ? Buffer.from(digits, 'hex') : undefined;
  }
  if (encoding === 'base64') {
    const digits = text.replaceAll(/\s+/g, '');
    return isBase64(digits) ? Buffer.from(digits, 'base64') : undefined;
  }
  return bytesOfText(text);
}

const signs: Readonly<Record<string, string>> = {
  r: '\r',
  n: '\n',
  t: '\t',
  '0': '\0',
  '\\': '\\',
};

/** The bytes of a text with escapes as in C; undefined for an escape that means nothing. */
function bytesOfText(text: string): Buffer | undefined {
  const parts: Buffer[] = [];
  for (const [whole, hex, sign] of text.matchAll(/\\x([0-9a-f]{2})|\\(.?)|[^\\]+/gis)) {
    const meant = sign === undefined ? whole : signs[sign];
    if (hex !== undefined) parts.push(Buffer.from(hex, 'hex'));
    else if (meant === undefined) return undefined;
    else parts.push(Buffer.from(meant, 'utf8'));
  }
  return Buffer.concat(parts);
}

const howWritten: Readonly<Record<string, string>> = {
  hex: 'write it as pairs of hexadecimal digits, such as 0d0a',
  base64: 'write it as base64, such as UElORw0K',
  text: 'write a backslash as `\\\\`; the others are `\\r`, `\\n`, `\\t`, `\\0` and `\\xNN`',
};

export function encodingIn(config: Config): string {
  return asText(config.encoding) ?? 'text';
}

/** Faults of `send` and `expect` by their encoding. */
export function payloadFaults(config: Config): ConfigFault[] {
  const encoding = encodingIn(config);
  return ['send', 'expect'].flatMap((key) => {
    const text = asText(config[key]);
    if (text === undefined || text === mask) return [];
    const bytes = bytesOf(text, encoding);
    return bytes === undefined || bytes.length === 0
      ? [{ key, remedy: howWritten[encoding] ?? '' }]
      : [];
  });
}

/** The bytes of `send` or `expect`; null where there is none. */
export function payloadIn(config: Config, key: string): Buffer | null {
  return given(config, key)
    ? (bytesOf(asText(config[key]) ?? '', encodingIn(config)) ?? null)
    : null;
}

const leastSecret = 4;
const mostSecrets = 20;

/** What is sent, as a whole and word by word: a server may echo the password alone. */
export function secretWordsIn(send: Buffer | null): readonly string[] {
  const text = send?.toString('utf8') ?? '';
  return [...new Set([text, ...text.split(/[\s\0]+/)])]
    .filter((word) => word.trim().length >= leastSecret)
    .slice(0, mostSecrets);
}
