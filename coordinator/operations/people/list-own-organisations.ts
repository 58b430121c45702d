import type {
  listOwnOrganisations as listOperation,
  switchOrganisation as switchOperation,
} from '../../../shared/api/inner/inner-people.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { planOfAnother } from '../../domain/another-organisation.ts';
import { writeActiveOrganisation } from '../../store/store-sessions.ts';
import { membershipsOf, ownedPlans } from '../../store/store-users.ts';
import type { Answer, ByPerson } from '../operation-context.ts';
import { notFound } from '../operation-not-found.ts';

export const listOwnOrganisations = async (context: ByPerson): Answer<OutputOf<typeof listOperation>> => {
  const { sql, person } = context;
  const [memberships, owned] = await Promise.all([membershipsOf(sql, person.user), ownedPlans(sql, person.user)]);
  return {
    items: memberships.map(({ ends_at, ...own }) => ({ ...own, ends_at: ends_at === null ? null : new Date(ends_at).toISOString() })),
    may_found: !(planOfAnother({ owned, isProven: person.email_verified }, context.with.door) instanceof Refusal),
  };
};

export const switchOrganisation = async (
  { sql, person }: ByPerson,
  { organisation_id }: InputOf<typeof switchOperation>,
): Answer<OutputOf<typeof switchOperation>> => {
  const own = await membershipsOf(sql, person.user);
  if (!own.some(({ id }) => id === organisation_id)) throw notFound('organisation_not_found');
  await writeActiveOrganisation(sql, person.session, organisation_id);
  return { id: organisation_id };
};
