import type { listGroups as operation } from '../../../shared/api/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { groupPage } from '../../store/groups.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { beforeAll, pageOf } from '../cursors.ts';
import { groupOut } from './group-out.ts';

export const listGroups = (
  { sql, organisation, with: { cursors } }: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> =>
  pageOf(cursors, ['groups', organisation.id], input, (from, most) => groupPage(sql, organisation.id, from ?? beforeAll, most), groupOut);
