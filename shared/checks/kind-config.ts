import { z } from 'zod';
import { continents } from '../base/continents.ts';
import type { Config } from './assignment.ts';
import type { ConfigKeys, everyKindKeys } from './config-key.ts';

/** The timeout of this monitor's check: its own, or the smaller of 10 s and half the interval. */
export function timeoutMs(config: Config, interval_s: number): number {
  const own = config.timeout_ms;
  return typeof own === 'number' ? own : Math.min(10_000, Math.floor(interval_s * 500));
}

/** What is wrong with one key of a config, and the remedy: a whole sentence for users. */
export type ConfigFault = { readonly key: string; readonly remedy: string };

export type ConfigContext = { readonly target: string; readonly interval_s: number };

/** What a kind of check knows of its config. Unknown keys are kept and do nothing. */
export type KindConfig = {
  readonly schemas: KeySchemas;
  /** Faults between keys that are each valid. */
  readonly clashes: (config: Config, context: ConfigContext) => ConfigFault[];
  /** The fault of a key, with more in its remedy than what is allowed. */
  readonly explained?: (fault: ConfigFault, config: Config) => ConfigFault;
  /** Where this config has secrets: each a path of keys to a text. */
  readonly secretPaths: (config: Config) => readonly (readonly string[])[];
};

/** What a kind of check knows of its target. */
export type KindTarget = {
  /** What is wrong with a target, and the remedy; undefined when nothing is. */
  readonly fault: (target: string) => string | undefined;
  /** The default name of a monitor; undefined where a name must be given. */
  readonly defaultName: (target: string) => string | undefined;
};

/** The schema of each key; its description for users is in `ConfigKey`. */
export type KeySchemas<Key extends string = string> = { readonly [K in Key]: z.ZodType };

export const everyKindSchemas = {
  timeout_ms: z.int().min(1_000).max(60_000),
  continents: z
    .array(z.enum(continents))
    .min(1)
    .refine((list) => new Set(list).size === list.length)
    .meta({ uniqueItems: true }),
  probe: z.uuid(),
  places: z.array(z.string().min(1).max(400)).min(1).max(20),
  inside_counts: z.boolean(),
  alert_after_s: z.int().min(0).max(3_600),
} satisfies KeySchemas<keyof typeof everyKindKeys>;

/**
 * The faults of each key on its own: one for a key, naming the place inside it. A key that is null
 * counts as not given.
 */
export function keyFaults(schemas: KeySchemas, keys: ConfigKeys, config: Config): ConfigFault[] {
  return Object.keys(keys).flatMap((key) => {
    const schema = schemas[key];
    const value = Object.hasOwn(config, key) ? config[key] : undefined;
    if (schema === undefined || value === undefined || value === null) return [];
    const parsed = schema.safeParse(value);
    if (parsed.success) return [];
    const inside = parsed.error.issues[0]?.path ?? [];
    const place = inside
      .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
      .join('');
    return [{ key: `${key}${place}`, remedy: `must be ${keys[key]?.allowed ?? 'another value'}` }];
  });
}

/** The value at a path, if there is one. */
export function valueAt(config: Config, path: readonly string[]): unknown {
  let value: unknown = config;
  for (const key of path) {
    if (
      typeof value !== 'object' ||
      value === null ||
      Array.isArray(value) ||
      !Object.hasOwn(value, key)
    )
      return undefined;
    value = Object.entries(value).find(([name]) => name === key)?.[1];
  }
  return value;
}
