import type { listGroups as operation } from '../../../shared/api/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { groupPage } from '../../store/store-groups.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { beforeAll, pageOf } from '../operation-cursors.ts';
import { groupOut } from './operation-group-out.ts';

export const listGroups = (
  { sql, organisation, with: { cursors } }: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> =>
  pageOf(cursors, ['groups', organisation.id], input, (from, most) => groupPage(sql, organisation.id, from ?? beforeAll, most), groupOut);
