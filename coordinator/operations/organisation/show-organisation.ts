import type {
  showOrganisation as showOperation,
  updateOrganisation as updateOperation,
} from '../../../shared/api/inner/inner-organisation.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { timeZoneFrom } from '../../domain/organisation.ts';
import { plans } from '../../domain/plan-limits.ts';
import { createdAt, usageOf, writeOrganisation } from '../../store/store-organisations.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

const things = ['monitors', 'status_pages', 'members', 'private_probes', 'channels', 'groups', 'windows'] as const;

export const showOrganisation = async ({ sql, organisation, now }: InOrganisation): Answer<OutputOf<typeof showOperation>> => {
  const { id, name, time_zone, plan: named, ends_at } = organisation;
  const plan = plans[named];
  const [usage, created_at] = await Promise.all([usageOf(sql, id, now), createdAt(sql, id)]);
  return {
    ...{ id, name, time_zone, plan: named, created_at: created_at.toISOString(), least_interval_s: plan.min_interval_s },
    ends_at: ends_at === null ? null : new Date(ends_at).toISOString(),
    used: things.map((what) => ({ what, count: usage[what], most: Number.isFinite(plan[what]) ? plan[what] : null })),
  };
};

/** Windows keep the clock that they were made by; times are shown in the new one from now on. */
export const updateOrganisation = async (
  { sql, organisation, note }: InOrganisation,
  input: InputOf<typeof updateOperation>,
): Answer<OutputOf<typeof updateOperation>> => {
  const { id, name, time_zone } = organisation;
  const next = {
    name: input.name === null ? name : nameFrom(input.name),
    time_zone: input.time_zone === null ? time_zone : timeZoneFrom(input.time_zone),
  };
  note({ before: { name, time_zone }, after: next });
  await writeOrganisation(sql, id, next);
  return { id, ...next };
};
