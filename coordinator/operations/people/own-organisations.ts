import type { listOwnOrganisations as listOperation, switchOrganisation as switchOperation } from '../../../shared/api/inner/people.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { writeActiveOrganisation } from '../../store/sessions.ts';
import { membershipsOf } from '../../store/users.ts';
import type { Answer, ByPerson } from '../context.ts';
import { notFound } from '../not-found.ts';

export const listOwnOrganisations = async ({ sql, person }: ByPerson): Answer<OutputOf<typeof listOperation>> => ({
  items: (await membershipsOf(sql, person.user)).map(({ ends_at, ...own }) => ({
    ...own,
    ends_at: ends_at === null ? null : new Date(ends_at).toISOString(),
  })),
});

export const switchOrganisation = async (
  { sql, person }: ByPerson,
  { organisation_id }: InputOf<typeof switchOperation>,
): Answer<OutputOf<typeof switchOperation>> => {
  const own = await membershipsOf(sql, person.user);
  if (!own.some(({ id }) => id === organisation_id)) throw notFound('organisation_not_found');
  await writeActiveOrganisation(sql, person.session, organisation_id);
  return { id: organisation_id };
};
