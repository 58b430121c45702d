import type { listMonitors as operation } from '../../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { beforeAll, pageOf } from '../cursors.ts';
import { monitorOut } from './monitor-out.ts';

export const listMonitors = (
  { sql, organisation, with: { cursors, shownMonitors } }: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> =>
  pageOf(
    cursors,
    ['monitors', organisation.id],
    input,
    (from, most) => shownMonitors.page(sql, organisation.id, from ?? beforeAll, most),
    monitorOut,
  );
