import { Refusal } from '../../shared/base/errors.ts';

/** The limits of a plan; every number of every plan is here and nowhere else. */
export type Plan = {
  readonly monitors: number;
  readonly min_interval_s: number;
  readonly status_pages: number;
  readonly members: number;
  readonly private_probes: number;
  readonly channels: number;
  readonly webhooks: number;
  readonly groups: number;
  readonly objectives: number;
  /** Maintenance that is not over. */
  readonly windows: number;
  /**
   * Of one window, in the 90 days that are stored in advance: stored rows cost each installation,
   * whatever was paid.
   */
  readonly occurrences: number;
  /** How long single checks are kept; the installation keeps none longer than KEEP_RAW_DAYS. */
  readonly check_days: number;
};

const unlimited = Number.POSITIVE_INFINITY;

export const plans = {
  free: {
    monitors: 20,
    min_interval_s: 180,
    status_pages: 1,
    members: 1,
    private_probes: 0,
    channels: 5,
    webhooks: 2,
    groups: 20,
    objectives: 5,
    windows: 20,
    occurrences: 5_000,
    check_days: 7,
  },
  team: {
    monitors: 100,
    min_interval_s: 60,
    status_pages: 5,
    members: 10,
    private_probes: 1,
    channels: 50,
    webhooks: 10,
    groups: 200,
    objectives: 50,
    windows: 200,
    occurrences: 5_000,
    check_days: 14,
  },
  business: {
    monitors: 1000,
    min_interval_s: 10,
    status_pages: 50,
    members: 100,
    private_probes: 10,
    channels: 500,
    webhooks: 100,
    groups: 2_000,
    objectives: 500,
    windows: 2_000,
    occurrences: 5_000,
    check_days: 30,
  },
  self_hosted: {
    monitors: unlimited,
    min_interval_s: 0,
    status_pages: unlimited,
    members: unlimited,
    private_probes: unlimited,
    channels: unlimited,
    webhooks: unlimited,
    groups: unlimited,
    objectives: unlimited,
    windows: unlimited,
    occurrences: 5_000,
    check_days: unlimited,
  },
} as const satisfies Record<string, Plan>;

export type PlanName = keyof typeof plans;

export const planNames = [
  'free',
  'team',
  'business',
  'self_hosted',
] as const satisfies readonly PlanName[];

/** Checks that are older are accepted for nobody. */
export const leastCheckDays = Math.min(...Object.values(plans).map(({ check_days }) => check_days));

/** The plan of this name. @throws Refusal when there is none. */
export function planNamed(text: string): PlanName {
  if (isPlanName(text)) return text;
  throw new Refusal('plan_unknown', { plan: `must be one of ${Object.keys(plans).join(', ')}.` });
}

function isPlanName(text: string): text is PlanName {
  return Object.hasOwn(plans, text);
}

const counted = {
  monitors: { code: 'plan_limit_monitors', noun: 'monitors', one: 'monitor' },
  status_pages: { code: 'plan_limit_status_pages', noun: 'status pages', one: 'status page' },
  members: { code: 'plan_limit_members', noun: 'members', one: 'member' },
  private_probes: {
    code: 'plan_limit_private_probes',
    noun: 'private probes',
    one: 'private probe',
  },
  channels: { code: 'plan_limit_channels', noun: 'channels', one: 'channel' },
  webhooks: { code: 'plan_limit_webhooks', noun: 'webhooks', one: 'webhook' },
  groups: { code: 'plan_limit_groups', noun: 'groups', one: 'group' },
  objectives: { code: 'plan_limit_objectives', noun: 'objectives', one: 'objective' },
  windows: {
    code: 'plan_limit_windows',
    noun: 'maintenance windows that are not over',
    one: 'maintenance window that is not over',
  },
} as const;

/** What a plan limits by number. */
export type Counted = keyof typeof counted;

/**
 * Refuses one more when the plan's limit is reached. The count must be read under the
 * organisation's lock.
 */
export function enforceLimit(of: Counted, plan: PlanName, present: number): void {
  const refusal = limitReached(of, plan, present);
  if (refusal) throw refusal;
}

/** The refusal of one more; undefined: the plan allows it. */
export function limitReached(of: Counted, plan: PlanName, present: number): Refusal | undefined {
  const limit = plans[plan][of];
  if (present < limit) return undefined;
  const { code, noun, one } = counted[of];
  if (limit === 0) return new Refusal(code, `The plan ${plan} has no ${noun}; take a larger plan.`);
  const allowed = `${limit} ${limit === 1 ? one : noun}, and there ${present === 1 ? 'is' : 'are'} ${present}`;
  // Members are removed, not deleted.
  const remedy = of === 'members' ? 'Remove' : 'Delete';
  return new Refusal(
    code,
    `The plan ${plan} allows ${allowed}. ${remedy} one, or take a larger plan.`,
  );
}

/** Refuses a window that would occur too often within the stored time. */
export function mayOccur(times: number, plan: PlanName): void {
  const { occurrences } = plans[plan];
  if (times <= occurrences) return;
  throw new Refusal('plan_limit_occurrences', {
    rrule: `the window would occur ${times.toLocaleString('en')} times within 90 days, and ${occurrences.toLocaleString('en')} are the most; choose a longer step, or one longer window.`,
  });
}

/** Refuses an interval below the plan's minimum. */
export function mayCheckEvery(interval_s: number, plan: PlanName): void {
  const { min_interval_s } = plans[plan];
  if (interval_s >= min_interval_s) return;
  throw new Refusal('plan_limit_interval', {
    interval_s: `the plan ${plan} checks every ${min_interval_s} seconds or slower; send ${min_interval_s} or more, or take a larger plan.`,
  });
}
