import type { Config } from './assignment.ts';
import { valueAt } from './kind-config.ts';
import type { Json } from './result.ts';

/** Replaces a secret in answers. A caller may send it back to leave the secret unchanged. */
export const mask = '***';

/**
 * Secrets of one config, by their place. They are stored encrypted and sent sealed, apart from the
 * config.
 */
export type Secrets = { readonly [place: string]: string };

type Path = readonly string[];

/**
 * Splits a submitted config into what may be shown and the secrets. A mask keeps the stored secret
 * of that place; a mask without one is a fault, and `unknown` names its place as the user wrote it.
 */
export function split(
  config: Config,
  paths: readonly Path[],
  stored: Secrets = {},
): { readonly open: Config; readonly secrets: Secrets; readonly unknown: readonly string[] } {
  const secrets: Record<string, string> = {};
  const unknown: string[] = [];
  for (const path of paths) {
    const value = valueAt(config, path);
    if (typeof value !== 'string') continue;
    const place = placeOf(path);
    const kept = Object.hasOwn(stored, place) ? stored[place] : undefined;
    if (value !== mask) secrets[place] = value;
    else if (kept !== undefined) secrets[place] = kept;
    else unknown.push(path.join('.'));
  }
  return {
    open: withValues(
      config,
      paths.map((path) => [path, mask] as const),
    ),
    secrets,
    unknown,
  };
}

/** A place as one text, in lower case, because header names are case-insensitive. */
function placeOf(path: Path): string {
  return path.join('/').toLowerCase();
}

function withValues(config: Config, values: readonly (readonly [Path, string])[]): Config {
  return Object.fromEntries(
    Object.entries(config).map(([name, json]) => [
      name,
      values
        .filter(([path]) => path[0] === name)
        .reduce<Json>((inside, [path, value]) => withValue(inside, path.slice(1), value), json),
    ]),
  );
}

function withValue(json: Json, path: Path, value: string): Json {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, inside]) => [
      name,
      name === key ? withValue(inside, rest, value) : inside,
    ]),
  );
}

/** The config with its secrets in plain form, only for the check. */
export function merge(open: Config, paths: readonly Path[], secrets: Secrets): Config {
  return withValues(
    open,
    paths.flatMap((path) => {
      const place = placeOf(path);
      const secret = Object.hasOwn(secrets, place) ? secrets[place] : undefined;
      return secret !== undefined && valueAt(open, path) === mask ? [[path, secret] as const] : [];
    }),
  );
}
