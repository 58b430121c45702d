import { Refusal } from '../../shared/base/errors.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import { configFaults, faultsSentence, knownKeys, splitSecrets } from '../../shared/checks/config.ts';
import { mask, type Secrets } from '../../shared/checks/config-secrets.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Json } from '../../shared/checks/result.ts';
import { storable } from './given-names.ts';

const originOf = (target: string): string | undefined => {
  try {
    return new URL(target).origin;
  } catch {
    return undefined; // What is no address is refused as one, with its own words.
  }
};

/** Whether a stored secret of a monitor may go to another target of it: it belongs to its host, and never goes to another scheme, host or port. */
const isSameHost = (kind: Kind, before: string, after: string): boolean => {
  if (kind !== 'https') return before === after;
  const origin = originOf(before.trim());
  return origin !== undefined && origin === originOf(after.trim());
};

const refuseConfig = (message: string): Refusal => new Refusal('config_invalid', message);

/** Deeper than a config may be, so that its own check still says so; a hostile body would be deeper than the stack. */
const walkedDepth = 12;

/** A value as the database can keep it and give it back unchanged. @throws Refusal `config_invalid`, naming the place. */
const jsonFrom = (value: unknown, place: string, depth = 0): Json => {
  if (depth > walkedDepth) throw refuseConfig('`config` cannot be used: nest at most 8 levels deep');
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    if (storable(value)) return value;
    throw refuseConfig(`\`${place}\` cannot be used: leave out NUL and broken characters`);
  }
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value;
    throw refuseConfig(`\`${place}\` cannot be used: the number is too large to be kept`);
  }
  if (typeof value === 'bigint')
    throw refuseConfig(`\`${place}\` cannot be used: the number has more digits than are kept exactly; send it as a text`);
  if (Array.isArray(value)) return value.map((inside, index) => jsonFrom(inside, `${place}[${index}]`, depth + 1));
  if (typeof value !== 'object') throw refuseConfig(`\`${place}\` cannot be used: give a JSON value`);
  return Object.fromEntries(
    Object.entries(value).map(([key, inside]) => {
      if (!storable(key)) throw refuseConfig(`\`${place}\` cannot be used: a key holds a NUL or a broken character`);
      return [key, jsonFrom(inside, place === 'config' ? key : `${place}.${key}`, depth + 1)];
    }),
  );
};

/** A config with its secrets apart: `open` is shown and stored, with a mask where a secret stands. */
export type SplitConfig = { readonly open: Config; readonly secrets: Secrets };

type About = { readonly kind: Kind; readonly target: string; readonly interval_s: number };

/** What keeps a mask from standing for a secret. */
const nothingStored = `there is no stored secret that ${mask} could keep; send the secret itself`;
const belongsElsewhere =
  'a secret belongs to the host that it was given for, and the target has another scheme, host or port now; send the secret again, or leave it out';

const refuseMasks = (places: readonly string[], remedy: string): Refusal =>
  refuseConfig(`\`${places.join('`, `')}\` cannot be used: ${remedy}`);

/**
 * Judges a config as somebody sent it; masks keep the secrets that are stored. `from`: the target that they were given for, where it may be
 * another one. @throws Refusal `config_invalid`, naming every key.
 */
export const configFrom = (
  given: Readonly<Record<string, unknown>>,
  about: About,
  stored: Secrets,
  from: string = about.target,
): SplitConfig => {
  const { kind, target, interval_s } = about;
  const config = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, jsonFrom(value, key)]));
  if (!Object.keys(config).every(storable)) throw refuseConfig('`config` cannot be used: a key holds a NUL or a broken character');
  const faults = configFaults(kind, target, config, interval_s);
  if (faults.length > 0) throw refuseConfig(faultsSentence(faults));
  const isOfHost = from === target || isSameHost(kind, from, target);
  const { open, secrets, unknown } = splitSecrets(kind, config, isOfHost ? stored : {});
  if (unknown.length > 0) throw refuseMasks(unknown, isOfHost ? nothingStored : belongsElsewhere);
  return { open, secrets };
};

/** Judges a stored config against a new target or interval; its secrets go to no other host. @throws Refusal `config_invalid`. */
export const refuseUnfit = ({ open, secrets }: SplitConfig, { kind, target, interval_s }: About, from: string): void => {
  const faults = configFaults(kind, target, open, interval_s);
  if (faults.length > 0) throw refuseConfig(faultsSentence(faults));
  if (Object.keys(secrets).length === 0 || from === target || isSameHost(kind, from, target)) return;
  throw refuseMasks(splitSecrets(kind, open).unknown, belongsElsewhere);
};

/** Where from and when to tell: they decide who looks and who hears, not what is looked at. */
const aside = ['continents', 'probe', 'alert_after_s'];

const sorted = (json: Json): Json => {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(sorted);
  return Object.fromEntries(
    Object.entries(json)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inside]) => [key, sorted(inside)]),
  );
};

const text = (json: Json): string => JSON.stringify(sorted(json));

/** Whether two JSON values are the same, whatever the order of their keys. */
export const sameJson = (a: Json, b: Json): boolean => text(a) === text(b);

/** Whether two configs check the same thing: the keys that the kind uses, and the secrets, without where from (rule 17). */
export const checksTheSame = (kind: Kind, a: SplitConfig, b: SplitConfig): boolean => {
  const keys = knownKeys(kind).filter((key) => !aside.includes(key));
  const used = (config: Config): Json => Object.fromEntries(keys.flatMap((key) => (config[key] === undefined ? [] : [[key, config[key]]])));
  return sameJson(used(a.open), used(b.open)) && sameJson(a.secrets, b.secrets);
};
