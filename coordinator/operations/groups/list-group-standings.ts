import { groupRows, type listGroupStandings as operation } from '../../../shared/api/inner/inner-groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { countGroups, groupsByName } from '../../store/store-group-standings.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { groupOut } from './operation-group-out.ts';

export const listGroupStandings = async (
  { sql, organisation }: InOrganisation,
  { page }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const [matching, rows] = await Promise.all([
    countGroups(sql, organisation.id),
    groupsByName(sql, organisation.id, (page - 1) * groupRows, groupRows),
  ]);
  return { matching, items: rows.map(groupOut) };
};
