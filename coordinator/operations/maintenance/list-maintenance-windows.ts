import type { listMaintenanceWindows as operation } from '../../../shared/api/maintenance.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { windowPage } from '../../store/store-maintenance.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { afterAll, pageOf } from '../operation-cursors.ts';
import { windowOut } from './operation-window-out.ts';

export const listMaintenanceWindows = (
  { sql, organisation, now, with: { cursors } }: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> =>
  pageOf(
    cursors,
    ['maintenance', organisation.id],
    input,
    (from, most) => windowPage(sql, organisation.id, from ?? afterAll, most),
    (row) => windowOut(row, now),
  );
