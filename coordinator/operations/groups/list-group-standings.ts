import { groupRows, type listGroupStandings as operation } from '../../../shared/api/inner/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { countGroups, groupsByName } from '../../store/group-standings.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { groupOut } from './group-out.ts';

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
