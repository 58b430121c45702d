import type { ValueOf } from '../../shared/api/fields.ts';
import {
  type MonitorIn,
  type MonitorPatch as MonitorPatchIn,
  mostParents,
} from '../../shared/api/monitors.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { descriptionFrom, nameFrom, storable } from '../../shared/base/names.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import {
  configFaults,
  defaultName,
  knownKeys,
  refusedConfig,
  splitSecrets,
  targetFault,
} from '../../shared/checks/config.ts';
import { mask, type Secrets } from '../../shared/checks/config-secrets.ts';
import { hostAndPort } from '../../shared/checks/connection/config.ts';
import { domainOf } from '../../shared/checks/domain/config.ts';
import { isKind, type Kind, kinds } from '../../shared/checks/kinds.ts';
import type { Json } from '../../shared/checks/result.ts';
import { mayCheckEvery, type PlanName, plans } from '../gate/plans.ts';
import { domainFault, type Registries } from '../registrations/model.ts';
import { type Checker, locate, refuseUnreachable } from './locations.ts';

/**
 * A config and its secrets, separated: `open` is shown and stored, with a mask in place of each
 * secret.
 */
export type SplitConfig = { readonly open: Config; readonly secrets: Secrets };

type About = { readonly kind: Kind; readonly target: string; readonly interval_s: number };

/** Why a mask cannot represent a secret. */
const nothingStored = `there is no stored secret that ${mask} could keep; send the secret itself`;
const belongsElsewhere =
  'a secret belongs to the host that it was given for, and the target has another scheme, host or port now; send the secret again, or leave it out';

/**
 * Validates a config as it was sent; masks keep the stored secrets. `from`: the target that they
 * were given for, if the target may change. @throws Refusal `config_invalid`, naming every key.
 */
export function configFrom(
  given: Readonly<Record<string, unknown>>,
  about: About,
  stored: Secrets,
  from: string = about.target,
): SplitConfig {
  const { kind, target, interval_s } = about;
  const config = Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key, jsonFrom(value, key)]),
  );
  if (!Object.keys(config).every(storable))
    throw refuse('config', 'a key holds a NUL or a broken character');
  const faults = configFaults(kind, target, config, interval_s);
  if (faults.length > 0) throw refusedConfig(faults);
  const isOfHost = from === target || isSameHost(kind, from, target);
  const { open, secrets, unknown } = splitSecrets(kind, config, isOfHost ? stored : {});
  if (unknown.length > 0) throw refuseMasks(unknown, isOfHost ? nothingStored : belongsElsewhere);
  return { open, secrets };
}

/**
 * Deeper than a config may be, so that the config's own check still reports it; a hostile body
 * could be deeper than the stack.
 */
const walkedDepth = 12;

/**
 * A value that the database can store and return unchanged. @throws Refusal `config_invalid`,
 * naming the place.
 */
function jsonFrom(value: unknown, place: string, depth = 0): Json {
  if (depth > walkedDepth) throw refuse('config', 'nest at most 8 levels deep');
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    if (storable(value)) return value;
    throw refuse(place, 'leave out NUL and broken characters');
  }
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value;
    throw refuse(place, 'the number is too large to be kept');
  }
  if (typeof value === 'bigint')
    throw refuse(place, 'the number has more digits than are kept exactly; send it as a text');
  if (Array.isArray(value))
    return value.map((inside, index) => jsonFrom(inside, `${place}[${index}]`, depth + 1));
  if (typeof value !== 'object') throw refuse(place, 'must be a JSON value');
  return Object.fromEntries(
    Object.entries(value).map(([key, inside]) => {
      if (!storable(key)) throw refuse(place, 'a key holds a NUL or a broken character');
      return [key, jsonFrom(inside, place === 'config' ? key : `${place}.${key}`, depth + 1)];
    }),
  );
}

function refuse(key: string, remedy: string): Refusal {
  return refusedConfig([{ key, remedy }]);
}

/**
 * Whether a stored secret of a monitor may go to another target: it belongs to its origin, and
 * never goes to another scheme, host or port.
 */
function isSameHost(kind: Kind, before: string, after: string): boolean {
  // Of a heartbeat the target is a note, and its only secret is an address of its own.
  if (kind === 'heartbeat') return true;
  if (kind === 'tcp') return sameEndpoint(before, after);
  if (kind !== 'https') return before === after;
  const origin = originOf(before.trim());
  return origin !== undefined && origin === originOf(after.trim());
}

function sameEndpoint(before: string, after: string): boolean {
  const [from, to] = [before, after].map((target) => hostAndPort('tcp', target.trim()));
  return from !== undefined && from.host === to?.host && from.port === to.port;
}

function originOf(target: string): string | undefined {
  try {
    return new URL(target).origin;
  } catch {
    return undefined; // An invalid address is refused as an address, with its own words.
  }
}

function refuseMasks(places: readonly string[], remedy: string): Refusal {
  return new Refusal(
    'config_invalid',
    Object.fromEntries(places.map((place) => [`config.${place}`, remedy])),
    { message: `\`${places.join('`, `')}\` cannot be used: ${remedy}` },
  );
}

/**
 * Validates a stored config against a new target or interval; its secrets go to no other host.
 * @throws Refusal `config_invalid`.
 */
export function refuseUnfit(
  { open, secrets }: SplitConfig,
  { kind, target, interval_s }: About,
  from: string,
): void {
  const faults = configFaults(kind, target, open, interval_s);
  if (faults.length > 0) throw refusedConfig(faults);
  if (Object.keys(secrets).length === 0 || from === target || isSameHost(kind, from, target))
    return;
  throw refuseMasks(splitSecrets(kind, open).unknown, belongsElsewhere);
}

/**
 * Keys about where to check from and when to notify: they decide who checks and who is notified,
 * not what is checked.
 */
const aside = ['continents', 'probe', 'places', 'inside_counts', 'alert_after_s', 'ping_alias'];

/** Whether two JSON values are equal, whatever the order of their keys. */
export function sameJson(a: Json, b: Json): boolean {
  return text(a) === text(b);
}

function text(json: Json): string {
  return JSON.stringify(sorted(json));
}

function sorted(json: Json): Json {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(sorted);
  return Object.fromEntries(
    Object.entries(json)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inside]) => [key, sorted(inside)]),
  );
}

/**
 * Whether two configs check the same thing: the keys that the kind uses, and the secrets, without
 * the locations (rule 17).
 */
export function checksTheSame(kind: Kind, a: SplitConfig, b: SplitConfig): boolean {
  const keys = knownKeys(kind).filter((key) => !aside.includes(key));
  const used = (config: Config): Json =>
    Object.fromEntries(
      keys.flatMap((key) => (config[key] === undefined ? [] : [[key, config[key]]])),
    );
  return (
    sameJson(used(a.open), used(b.open)) && (kind === 'heartbeat' || sameJson(a.secrets, b.secrets))
  );
}

/** Labels by which people and programs find a monitor again; they decide nothing. */
export type Labels = { readonly external_id: string | null; readonly tags: readonly string[] };

const maxTags = 20;

/**
 * One line of up to 200 characters; an empty one counts as none. @throws Refusal
 * `external_id_invalid`.
 */
export function externalIdFrom(text: string): string | null {
  return text.trim() === ''
    ? null
    : oneLine(text, (error) => new Refusal('external_id_invalid', error.remedies));
}

/** Same rule as for names, with a refusal of its own. */
function oneLine(text: string, refusal: (error: Refusal) => Refusal, key = 'external_id'): string {
  try {
    return nameFrom(text, key);
  } catch (error) {
    throw error instanceof Refusal ? refusal(error) : error;
  }
}

/** In lower case, without duplicates, sorted. @throws Refusal `tags_invalid`. */
export function tagsFrom(given: readonly string[]): readonly string[] {
  const tags = [...new Set(given.map(tagFrom))].toSorted();
  if (tags.length > maxTags)
    throw new Refusal('tags_invalid', {
      tags: `there are ${tags.length}; ${maxTags} are the most.`,
    });
  return tags;
}

const longestTag = 50;

// Includes the comma, which separates tags wherever several are written.
const unfit = /[,\s]/;

function tagFrom(text: string): string {
  const tag = oneLine(text, () => noTag(text), 'tags').toLowerCase();
  if ([...tag].length > longestTag || unfit.test(tag)) throw noTag(tag);
  return tag;
}

function noTag(text: string): Refusal {
  return new Refusal('tags_invalid', {
    tags: `${JSON.stringify(text.slice(0, longestTag))} is no tag; each is 1 to ${longestTag} characters without blanks and commas.`,
  });
}

/** @throws Refusal `external_id_invalid` or `tags_invalid`. */
export function labelsFrom({ external_id, tags }: Pick<MonitorInput, keyof Labels>): Labels {
  return {
    external_id: external_id === null ? null : externalIdFrom(external_id),
    tags: tagsFrom(tags ?? []),
  };
}

/** Without duplicates. @throws Refusal `dependencies_invalid`. */
function parentsFrom(
  given: readonly string[],
  field: 'depends_on_monitors' | 'depends_on_groups',
): readonly string[] {
  const parents = [...new Set(given)];
  if (parents.length > mostParents)
    throw new Refusal('dependencies_invalid', {
      [field]: `there are ${parents.length}; ${mostParents} are the most.`,
    });
  return parents;
}

/** A monitor without its row's bookkeeping: its organisation, what it checks and how. */
export type Monitor = Labels & {
  readonly organisation: string;
  readonly kind: Kind;
  readonly name: string;
  readonly target: string;
  readonly interval_s: number;
  readonly enabled: boolean;
  /** As sent, with a mask in place of each secret. */
  readonly config: Config;
  /** The places that its config names, by their ids; null: as `continents` and `probe` say. */
  readonly places: readonly string[] | null;
  readonly secrets: Secrets;
  readonly group: string | null;
  readonly affects_group_status: boolean;
  /** What to do when it fails. */
  readonly runbook: string | null;
  /** The parents whose outage explains its own (rule 47). */
  readonly depends_on_monitors: readonly string[];
  readonly depends_on_groups: readonly string[];
  /** Increases with every change of what is checked. */
  readonly config_version: number;
};

/** What the model must know to accept or refuse. */
export type Circumstances = {
  readonly plan: PlanName;
  readonly checkers: readonly Checker[];
  /** Which domains can be watched. */
  readonly registries: Registries;
};

export type MonitorInput = ValueOf<typeof MonitorIn>;

/** Null: not mentioned. */
export type MonitorPatch = ValueOf<typeof MonitorPatchIn>;

/** The rest of a monitor that is only tried. */
export const unsaved = {
  name: 'trial',
  group: null,
  affects_group_status: null,
  external_id: null,
  tags: null,
  runbook: null,
  depends_on_monitors: null,
  depends_on_groups: null,
} as const;

export const usualIntervals: Readonly<Record<Kind, number>> = {
  https: 60,
  dns: 60,
  tcp: 60,
  tls: 60,
  websocket: 60,
  grpc: 60,
  heartbeat: 60,
  domain: 3_600,
  icmp: 60,
};

export function kindFrom(type: string): Kind {
  if (isKind(type)) return type;
  throw new Refusal('monitor_type_unknown', { type: `must be one of ${kinds.join(', ')}.` });
}

/** The default name with the path of the address, where there is one. */
export function longerName({ kind, name, target }: Monitor): string {
  if (kind !== 'https' || !URL.canParse(target)) return name;
  const { pathname, search } = new URL(target);
  return pathname === '/' && search === ''
    ? name
    : nameFrom(`${name}${pathname}${search}`.slice(0, 200));
}

/** Secrets that masks may represent, and the target that they were given for. */
export type StoredSecrets = { readonly secrets: Secrets; readonly target: string };

/** A new monitor as requested. @throws Refusal with the key and the remedy. */
export function draftMonitor(
  input: MonitorInput,
  organisation: string,
  { plan, checkers, registries }: Circumstances,
  stored?: StoredSecrets,
): Monitor {
  const labels = labelsFrom(input);
  const kind = kindFrom(input.type);
  const target = targetFrom(kind, input.target, registries);
  const name = monitorName(kind, input.name, target);
  const interval_s = intervalFrom(
    kind,
    input.interval_s ?? Math.max(usualIntervals[kind], plans[plan].min_interval_s),
    plan,
  );
  const { open, secrets } = configFrom(
    input.config ?? {},
    { kind, target, interval_s },
    stored?.secrets ?? {},
    stored?.target,
  );
  const { config, places } = locate(open, organisation, checkers);
  refuseUnreachable({ kind, target, config, places, organisation }, checkers);
  return {
    ...labels,
    organisation,
    kind,
    name,
    target,
    interval_s,
    enabled: true,
    config,
    places,
    secrets,
    group: input.group,
    affects_group_status: input.affects_group_status ?? true,
    runbook: descriptionFrom(input.runbook, 'runbook'),
    depends_on_monitors: parentsFrom(input.depends_on_monitors ?? [], 'depends_on_monitors'),
    depends_on_groups: parentsFrom(input.depends_on_groups ?? [], 'depends_on_groups'),
    config_version: 1,
  };
}

function targetFrom(kind: Kind, text: string, registries: Registries): string {
  const target = text.trim();
  const fault = storable(target)
    ? targetFault(kind, target)
    : 'must not contain NUL or broken characters';
  if (fault !== undefined)
    throw new Refusal(
      'target_invalid',
      { target: `${fault}.` },
      { message: `\`target\` ${fault}.` },
    );
  const domain = kind === 'domain' ? domainOf(target) : undefined;
  const unwatched = domain === undefined ? undefined : domainFault(registries, domain);
  if (unwatched !== undefined)
    throw new Refusal(
      'target_invalid',
      { target: `${unwatched}.` },
      { message: `\`target\`: ${unwatched}.` },
    );
  return target;
}

function monitorName(kind: Kind, text: string, target: string): string {
  if (text.trim() !== '') return nameFrom(text);
  const host = defaultName(kind, target);
  if (host === undefined)
    throw new Refusal('name_invalid', {
      name: `a ${kind} monitor needs one, as it has no host to be called by.`,
    });
  return nameFrom(host);
}

const bounds = {
  https: [10, 86_400],
  dns: [10, 86_400],
  tcp: [10, 86_400],
  tls: [10, 86_400],
  websocket: [10, 86_400],
  grpc: [10, 86_400],
  heartbeat: [30, 31_536_000],
  domain: [3_600, 604_800],
  icmp: [10, 86_400],
} as const satisfies Record<Kind, unknown>;

function intervalFrom(kind: Kind, interval_s: number, plan: PlanName): number {
  const [least, most] = bounds[kind];
  if (!(interval_s >= least && interval_s <= most))
    throw new Refusal('interval_out_of_range', {
      interval_s: `must be from ${least} to ${most} seconds for ${kind} monitors.`,
    });
  mayCheckEvery(interval_s, plan);
  return interval_s;
}

export type Amendment = {
  readonly monitor: Monitor;
  /** Its assignment, or what the state machine knows about it, changed. */
  readonly edited: boolean;
  /**
   * What is checked changed: an open incident is about something that is no longer checked (rule
   * 17).
   */
  readonly what_is_checked_changed: boolean;
  readonly switched: 'paused' | 'resumed' | null;
};

/**
 * A changed monitor: only what the patch mentions is validated again. @throws Refusal with the key
 * and the remedy.
 */
export function amendMonitor(
  before: Monitor,
  patch: MonitorPatch,
  { plan, checkers, registries }: Circumstances,
): Amendment {
  const { kind } = before;
  const external_id =
    patch.external_id === null ? before.external_id : externalIdFrom(patch.external_id);
  const tags = patch.tags === null ? before.tags : tagsFrom(patch.tags);
  const target = patch.target === null ? before.target : targetFrom(kind, patch.target, registries);
  const name = patch.name === null ? before.name : monitorName(kind, patch.name, target);
  const interval_s =
    patch.interval_s === null ? before.interval_s : intervalFrom(kind, patch.interval_s, plan);
  const about = { kind, target, interval_s };
  const old = { open: before.config, secrets: before.secrets };
  if (patch.config === null && (target !== before.target || interval_s !== before.interval_s))
    refuseUnfit(old, about, before.target);
  const given =
    patch.config === null ? old : configFrom(patch.config, about, before.secrets, before.target);
  const { organisation } = before;
  // What stands already is not looked up again: a place may have lost its last probe meanwhile.
  const located = sameJson(given.open, before.config)
    ? { config: given.open, places: before.places }
    : locate(given.open, organisation, checkers);
  const config = { ...given, open: located.config };
  const elsewhere = target !== before.target || !sameJson(config.open, before.config);
  if (elsewhere) refuseUnreachable({ kind, target, ...located, organisation }, checkers);
  // A heartbeat's interval is its agreement: under a new interval, silence that was fine until now
  // must not become a missed deadline.
  const isAgreedAnew =
    kind === 'heartbeat' &&
    interval_s !== before.interval_s &&
    typeof config.open.schedule !== 'string';
  const what_is_checked_changed =
    target !== before.target || isAgreedAnew || !checksTheSame(kind, old, config);
  const enabled = patch.enabled ?? before.enabled;
  // Both at once are refused when the input is read.
  const group = patch.group ?? (patch.ungroup ? null : before.group);
  const monitor: Monitor = {
    ...before,
    name,
    target,
    interval_s,
    enabled,
    group,
    external_id,
    tags,
    config: config.open,
    places: located.places,
    secrets: config.secrets,
    affects_group_status: patch.affects_group_status ?? before.affects_group_status,
    runbook: patch.runbook === null ? before.runbook : descriptionFrom(patch.runbook, 'runbook'),
    depends_on_monitors: parentsFrom(
      patch.depends_on_monitors ?? before.depends_on_monitors,
      'depends_on_monitors',
    ),
    depends_on_groups: parentsFrom(
      patch.depends_on_groups ?? before.depends_on_groups,
      'depends_on_groups',
    ),
    config_version: before.config_version + (what_is_checked_changed ? 1 : 0),
  };
  return {
    monitor,
    edited: elsewhere || what_is_checked_changed || interval_s !== before.interval_s,
    what_is_checked_changed,
    switched: enabled === before.enabled ? null : enabled ? 'resumed' : 'paused',
  };
}
