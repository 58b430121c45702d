import { groupRows, type listGroupStandings as operation } from '../../../shared/api/inner/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { countGroups, groupCounts } from '../../store/group-standings.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { standingOut } from './standing-out.ts';

export const listGroupStandings = async (
  { sql, organisation }: InOrganisation,
  { page }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const [matching, rows] = await Promise.all([
    countGroups(sql, organisation.id),
    groupCounts(sql, organisation.id, (page - 1) * groupRows, groupRows),
  ]);
  return { matching, items: rows.map(standingOut) };
};
