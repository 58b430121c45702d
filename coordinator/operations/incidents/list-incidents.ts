import type { listIncidents as operation } from '../../../shared/api/incidents.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { windowOf } from '../../domain/uptime.ts';
import { incidentPage } from '../../store/store-incidents-read.ts';
import { monitorsAmong } from '../../store/store-monitors.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { afterAll, pageOf } from '../operation-cursors.ts';
import { notFound } from '../operation-not-found.ts';
import { incidentOut } from './operation-incident-out.ts';

/** Newest first; open ones whatever `days` says, the others when they touch the window. */
export const listIncidents = async (
  { sql, organisation, now, with: { cursors } }: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { state, monitor, days } = input;
  if (monitor !== null && !(await monitorsAmong(sql, organisation.id, [monitor])).has(monitor)) throw notFound('monitor_not_found');
  const filter = { state, monitor, since: windowOf(days, now).from };
  return pageOf(
    cursors,
    ['incidents', organisation.id, state, monitor, days],
    input,
    (from, most) => incidentPage(sql, organisation.id, filter, from ?? afterAll, most),
    (row) => incidentOut(row, now),
  );
};
