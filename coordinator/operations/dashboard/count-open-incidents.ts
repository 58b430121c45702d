import type { countOpenIncidents as operation } from '../../../shared/api/inner/inner-dashboard.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { openIncidents } from '../../store/store-dashboard.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

export const countOpenIncidents = async ({ sql, organisation }: InOrganisation): Answer<OutputOf<typeof operation>> => ({
  open: await openIncidents(sql, organisation.id),
});
