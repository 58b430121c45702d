import { isFileKey } from '../../api/files.ts';
import { isRecord } from '../../base/json.ts';
import { nearest } from '../../base/text.ts';
import type { Raw } from '../files/expand.ts';
import { annotationPrefix } from './exposed.ts';

/** What annotations of an object say of its monitors. */

export type Options = {
  readonly isIgnored: boolean;
  readonly path: string | undefined;
  readonly scheme: 'http' | 'https' | undefined;
  readonly name: string | undefined;
  /** Undefined: the group of the namespace. Empty: none. */
  readonly group: string | undefined;
  /** Fields of a monitor in a file. */
  readonly fields: Raw;
  readonly notes: readonly string[];
};

type Reading = Partial<Omit<Options, 'fields' | 'notes'>> & { readonly fields?: Raw };

/** Undefined when the value cannot be used. */
type Annotation = {
  readonly allowed: string;
  readonly read: (text: string) => Reading | undefined;
};

const annotations: Readonly<Record<string, Annotation>> = {
  ignore: {
    allowed: 'true or false',
    read: (text) =>
      text === 'true' || text === 'false' ? { isIgnored: text === 'true' } : undefined,
  },
  name: {
    allowed: 'up to 200 characters',
    read: (text) => (text.length <= 200 ? { name: text } : undefined),
  },
  path: {
    allowed: 'a path that begins with one slash, such as /healthz',
    read: (text) => (/^\/(?!\/)[^\\\s]{0,1000}$/.test(text) ? { path: text } : undefined),
  },
  scheme: {
    allowed: 'http or https',
    read: (text) => (text === 'http' || text === 'https' ? { scheme: text } : undefined),
  },
  interval: {
    allowed: '10s to 24h, such as 30s or 5m',
    read: (text) => {
      const ms = durationMs(text);
      return ms !== undefined && ms >= 10_000 && ms <= 86_400_000 && ms % 1000 === 0
        ? { fields: { interval_s: ms / 1000 } }
        : undefined;
    },
  },
  timeout: {
    allowed: '1s to 60s, such as 5s or 1500ms',
    read: (text) => {
      const ms = durationMs(text);
      return ms !== undefined && ms >= 1000 && ms <= 60_000
        ? { fields: { config: { timeout_ms: ms } } }
        : undefined;
    },
  },
  'expected-status': {
    allowed: 'up to 30 statuses such as 2xx, 301, 401-403',
    read: (text) => {
      const all = words(text);
      return all.length > 0 && all.length <= 30 && all.every((one) => status.test(one))
        ? { fields: { config: { expected_status: all } } }
        : undefined;
    },
  },
  tags: {
    allowed: 'up to 20 words of up to 50 characters, with commas between them',
    read: (text) => {
      const tags = words(text);
      return tags.length <= 20 && tags.every((tag) => /^\S{1,50}$/.test(tag))
        ? { fields: { tags } }
        : undefined;
    },
  },
  group: {
    allowed: 'small letters, digits and dashes, or the external id of a group elsewhere (web/shop)',
    read: (text) =>
      text === '' || isFileKey(text) || (text.includes('/') && text.length <= 200)
        ? { group: text }
        : undefined,
  },
};

function words(text: string): readonly string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

const annotationNames: readonly string[] = Object.keys(annotations);

const status = /^[1-5](?:\d\d(?:\s*-\s*[1-5]\d\d)?|xx)$/i;

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `30s`; a number alone has seconds. */
function durationMs(text: string): number | undefined {
  const [, count = '', unit = 's'] = /^(\d{1,8})(ms|s|m|h)?$/.exec(text.trim()) ?? [];
  return count === '' ? undefined : Number(count) * (unitMs[unit] ?? 1000);
}

export function optionsIn(given: Readonly<Record<string, string>>): Options {
  const notes: string[] = [];
  let options: Omit<Options, 'notes'> = {
    isIgnored: false,
    path: undefined,
    scheme: undefined,
    name: undefined,
    group: undefined,
    fields: {},
  };
  for (const [key, text] of Object.entries(given)) {
    const annotation = Object.hasOwn(annotations, key) ? annotations[key] : undefined;
    if (annotation === undefined) {
      const meant = nearest(key, annotationNames);
      notes.push(
        `there is no annotation ${annotationPrefix}${key}${meant === undefined ? '.' : `; did you mean ${meant}?`}`,
      );
      continue;
    }
    const reading = annotation.read(text);
    if (reading === undefined)
      notes.push(
        `${annotationPrefix}${key}: "${text.slice(0, 60)}" is left out; it must be ${annotation.allowed}.`,
      );
    else
      options = {
        ...options,
        ...reading,
        fields: fieldsWith(options.fields, reading.fields ?? {}),
      };
  }
  return { ...options, notes };
}

function fieldsWith(fields: Raw, more: Raw): Raw {
  return {
    ...fields,
    ...more,
    ...(isRecord(fields.config) &&
      isRecord(more.config) && { config: { ...fields.config, ...more.config } }),
  };
}
