import { Refusal } from '../../shared/base/refusal.ts';

/** What an organisation of a plan may have at most; every number of every plan stands here and nowhere else. */
export type Plan = {
  readonly monitors: number;
  readonly min_interval_s: number;
  readonly status_pages: number;
  readonly members: number;
  readonly private_probes: number;
  readonly channels: number;
};

const unlimited = Number.POSITIVE_INFINITY;

export const plans = {
  free: { monitors: 20, min_interval_s: 180, status_pages: 1, members: 1, private_probes: 0, channels: 3 },
  team: { monitors: 100, min_interval_s: 60, status_pages: 5, members: 10, private_probes: 1, channels: 20 },
  business: { monitors: 1000, min_interval_s: 10, status_pages: 50, members: 100, private_probes: 10, channels: 200 },
  self_hosted: {
    monitors: unlimited,
    min_interval_s: 0,
    status_pages: unlimited,
    members: unlimited,
    private_probes: unlimited,
    channels: unlimited,
  },
} as const satisfies Record<string, Plan>;

export type PlanName = keyof typeof plans;

export const planNames = ['free', 'team', 'business', 'self_hosted'] as const satisfies readonly PlanName[];

const isPlanName = (text: string): text is PlanName => Object.hasOwn(plans, text);

/** The plan's name as asked for. @throws Refusal when there is none of that name. */
export const planNamed = (text: string): PlanName => {
  if (isPlanName(text)) return text;
  throw new Refusal('plan_unknown', `plan: there is no plan "${text}"; one of ${Object.keys(plans).join(', ')} would do.`);
};

const counted = {
  monitors: { code: 'plan_limit_monitors', noun: 'monitors' },
  status_pages: { code: 'plan_limit_status_pages', noun: 'status pages' },
  members: { code: 'plan_limit_members', noun: 'members' },
  private_probes: { code: 'plan_limit_private_probes', noun: 'private probes' },
  channels: { code: 'plan_limit_channels', noun: 'channels' },
} as const;

/** Refuses one more of something when the plan's number is reached. The count must be read under the organisation's lock. */
export const mayHaveOneMore = (of: keyof typeof counted, plan: PlanName, present: number): void => {
  const most = plans[plan][of];
  if (present < most) return;
  const { code, noun } = counted[of];
  throw new Refusal(code, `The plan ${plan} allows ${most} ${noun}, and there are ${present}. Delete one, or take a larger plan.`);
};

/** Refuses an interval that is shorter than the plan checks. */
export const mayCheckEvery = (interval_s: number, plan: PlanName): void => {
  const { min_interval_s } = plans[plan];
  if (interval_s >= min_interval_s) return;
  throw new Refusal(
    'plan_limit_interval',
    `interval_s: the plan ${plan} checks every ${min_interval_s} seconds or slower; send ${min_interval_s} or more, or take a larger plan.`,
  );
};
