import { z } from 'zod';
import { continents } from '../base/continents.ts';
import type { Config } from './assignment.ts';

/** What is wrong with one key of a config, and what would do: a whole sentence for people. */
export type ConfigFault = { readonly key: string; readonly remedy: string };

export type ConfigContext = { readonly target: string; readonly interval_s: number };

/** What a kind of check knows of its config. Keys that it does not know are kept and do nothing. */
export type KindConfig = {
  readonly keys: readonly string[];
  readonly faults: (config: Config, context: ConfigContext) => ConfigFault[];
  /** Where secrets stand in this config: each a path of keys to a text. */
  readonly secretPaths: (config: Config) => readonly (readonly string[])[];
};

/** What a kind of check knows of its target. */
export type KindTarget = {
  /** What is wrong with a target and what would do; undefined when nothing is. */
  readonly fault: (target: string) => string | undefined;
  /** The name that a monitor gets when nobody gave it one; undefined where one must be given. */
  readonly defaultName: (target: string) => string | undefined;
};

/** The keys of a config, each with its shape and the sentence that says what is allowed. */
export type KeyTable = { readonly [key: string]: { readonly schema: z.ZodType; readonly remedy: string } };

/** Keys that every kind has. */
export const everyKindsKeys = {
  timeout_ms: {
    schema: z.int().min(1_000).max(60_000),
    remedy: 'give a whole number of milliseconds from 1,000 to 60,000, below the interval',
  },
  continents: {
    schema: z
      .array(z.enum(continents))
      .min(1)
      .refine((list) => new Set(list).size === list.length),
    remedy: `give a list with at least one of ${continents.join(', ')}, none twice`,
  },
  probe: { schema: z.uuid(), remedy: 'give the id (a UUID) of a private probe of your organisation' },
  alert_after_s: { schema: z.int().min(0).max(3_600), remedy: 'give a whole number of seconds from 0 to 3,600' },
} satisfies KeyTable;

/** The faults of each key by itself: one for a key, naming the place inside it. A key that is null counts as not given. */
export const keyFaults = (table: KeyTable, config: Config): ConfigFault[] =>
  Object.entries(table).flatMap(([key, { schema, remedy }]) => {
    const value = Object.hasOwn(config, key) ? config[key] : undefined;
    if (value === undefined || value === null) return [];
    const parsed = schema.safeParse(value);
    if (parsed.success) return [];
    const inside = parsed.error.issues[0]?.path ?? [];
    const place = inside.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
    return [{ key: `${key}${place}`, remedy }];
  });

/** The value at a path, if the path leads somewhere. */
export const valueAt = (config: Config, path: readonly string[]): unknown => {
  let value: unknown = config;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, key)) return undefined;
    value = Object.entries(value).find(([name]) => name === key)?.[1];
  }
  return value;
};
