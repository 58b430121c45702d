import { Refusal } from '../../shared/base/errors.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import { defaultName, targetFault } from '../../shared/checks/config.ts';
import type { Secrets } from '../../shared/checks/config-secrets.ts';
import { isKind, type Kind, kinds } from '../../shared/checks/kinds.ts';
import { nameFrom, storable } from './given-names.ts';
import { checksTheSame, configFrom, refuseUnfit, sameJson } from './monitor-config.ts';
import { type Checker, refuseUnreachable } from './monitor-reach.ts';
import { mayCheckEvery, type PlanName, plans } from './plan-limits.ts';

/** What a monitor is, beside its row: whom it belongs to, what it watches and how. */
export type Monitor = {
  readonly organisation: string;
  readonly kind: Kind;
  readonly name: string;
  readonly target: string;
  readonly interval_s: number;
  readonly enabled: boolean;
  /** As sent, with a mask where a secret stands. */
  readonly config: Config;
  readonly secrets: Secrets;
  readonly group: string | null;
  readonly affects_group_status: boolean;
  /** Goes up with every change of what is checked. */
  readonly config_version: number;
};

/** What the domain must know to say yes or no. */
export type Circumstances = { readonly plan: PlanName; readonly checkers: readonly Checker[] };

type FreeConfig = Readonly<Record<string, unknown>>;

export type MonitorInput = {
  readonly type: string;
  readonly target: string;
  readonly name: string;
  readonly interval_s: number | null;
  readonly config: FreeConfig | null;
  readonly group: string | null;
  /** Null: not mentioned, and so it does. */
  readonly affects_group_status: boolean | null;
};

/** Null: not mentioned. */
export type MonitorPatch = {
  readonly name: string | null;
  readonly target: string | null;
  readonly interval_s: number | null;
  readonly config: FreeConfig | null;
  readonly enabled: boolean | null;
  readonly group: string | null;
  readonly ungroup: boolean;
  readonly affects_group_status: boolean | null;
};

const bounds = { https: [10, 86_400], dns: [10, 86_400], heartbeat: [30, 31_536_000] } as const satisfies Record<Kind, unknown>;
const usualInterval = 60;

const kindFrom = (type: string): Kind => {
  if (isKind(type)) return type;
  throw new Refusal('monitor_type_unknown', `type: there is no type "${type.slice(0, 40)}"; one of ${kinds.join(', ')} would do.`);
};

const targetFrom = (kind: Kind, text: string): string => {
  const target = text.trim();
  const fault = storable(target) ? targetFault(kind, target) : '`target` must not contain NUL or broken characters';
  if (fault !== undefined) throw new Refusal('target_invalid', `${fault}.`);
  return target;
};

const intervalFrom = (kind: Kind, interval_s: number, plan: PlanName): number => {
  const [least, most] = bounds[kind];
  if (!(interval_s >= least && interval_s <= most))
    throw new Refusal('interval_out_of_range', `interval_s: must be from ${least} to ${most} seconds for ${kind} monitors.`);
  mayCheckEvery(interval_s, plan);
  return interval_s;
};

const monitorName = (kind: Kind, text: string, target: string): string => {
  if (text.trim() !== '') return nameFrom(text);
  const host = defaultName(kind, target);
  if (host === undefined) throw new Refusal('name_invalid', `name: a ${kind} monitor needs one, as it has no host to be called by.`);
  return nameFrom(host);
};

/** Secrets that masks may stand for, and the target that they were given for. */
export type StoredSecrets = { readonly secrets: Secrets; readonly target: string };

/** A new monitor as it is asked for. @throws Refusal with the key and the remedy. */
export const draftMonitor = (
  input: MonitorInput,
  organisation: string,
  { plan, checkers }: Circumstances,
  stored?: StoredSecrets,
): Monitor => {
  const kind = kindFrom(input.type);
  const target = targetFrom(kind, input.target);
  const name = monitorName(kind, input.name, target);
  const interval_s = intervalFrom(kind, input.interval_s ?? Math.max(usualInterval, plans[plan].min_interval_s), plan);
  const { open: config, secrets } = configFrom(input.config ?? {}, { kind, target, interval_s }, stored?.secrets ?? {}, stored?.target);
  refuseUnreachable({ kind, target, config, organisation }, checkers);
  const { group } = input;
  const affects_group_status = input.affects_group_status ?? true;
  return { organisation, kind, name, target, interval_s, enabled: true, config, secrets, group, affects_group_status, config_version: 1 };
};

export type Amendment = {
  readonly monitor: Monitor;
  /** Its assignment, or what the state machine knows of it, is another. */
  readonly edited: boolean;
  /** What is checked really changed: an open incident is of something that is not checked any more (rule 17). */
  readonly what_is_checked_changed: boolean;
  readonly moved: boolean;
  readonly switched: 'paused' | 'resumed' | null;
};

/** A monitor as changed: only what the patch mentions is judged again. @throws Refusal with the key and the remedy. */
export const amendMonitor = (before: Monitor, patch: MonitorPatch, { plan, checkers }: Circumstances): Amendment => {
  const { kind } = before;
  const target = patch.target === null ? before.target : targetFrom(kind, patch.target);
  const name = patch.name === null ? before.name : monitorName(kind, patch.name, target);
  const interval_s = patch.interval_s === null ? before.interval_s : intervalFrom(kind, patch.interval_s, plan);
  const about = { kind, target, interval_s };
  const old = { open: before.config, secrets: before.secrets };
  if (patch.config === null && (target !== before.target || interval_s !== before.interval_s)) refuseUnfit(old, about, before.target);
  const config = patch.config === null ? old : configFrom(patch.config, about, before.secrets, before.target);
  const elsewhere = target !== before.target || !sameJson(config.open, before.config);
  if (elsewhere) refuseUnreachable({ kind, target, config: config.open, organisation: before.organisation }, checkers);
  // A heartbeat is its agreement: under another interval what was silence in order until now must not be a missed deadline.
  const isAgreedAnew = kind === 'heartbeat' && interval_s !== before.interval_s && typeof config.open.schedule !== 'string';
  const what_is_checked_changed = target !== before.target || isAgreedAnew || !checksTheSame(kind, old, config);
  const enabled = patch.enabled ?? before.enabled;
  // Both at once are refused as input.
  const group = patch.group ?? (patch.ungroup ? null : before.group);
  const monitor: Monitor = {
    ...before,
    ...{ name, target, interval_s, enabled, group },
    config: config.open,
    secrets: config.secrets,
    affects_group_status: patch.affects_group_status ?? before.affects_group_status,
    config_version: before.config_version + (what_is_checked_changed ? 1 : 0),
  };
  return {
    monitor,
    edited: elsewhere || what_is_checked_changed || interval_s !== before.interval_s,
    what_is_checked_changed,
    moved: group !== before.group,
    switched: enabled === before.enabled ? null : enabled ? 'resumed' : 'paused',
  };
};
