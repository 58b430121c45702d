import type { listMonitorFigures as operation } from '../../../shared/api/inner/inner-figures.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import type { Status } from '../../domain/monitor-status.ts';
import { plans } from '../../domain/plan-limits.ts';
import { monitorFigures } from '../../store/store-monitor-figures.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

/** Whoever has more than so many reads lists by their pages. */
const mostOfAll = 10_000;

/** An outage that nobody confirmed is none (rule 11). */
const isUp = (status: Status): boolean | null => (status === 'pending' || status === 'paused' ? null : status !== 'down');

export const listMonitorFigures = async ({ sql, organisation, now }: InOrganisation): Answer<OutputOf<typeof operation>> => {
  const rows = await monitorFigures(sql, organisation.id, Math.min(plans[organisation.plan].monitors, mostOfAll), now);
  return {
    items: rows.map(({ id, name, type, status, response_ms }) => ({ id, name, type, status, is_up: isUp(status), response_ms })),
    left_out: (rows[0]?.count ?? 0) - rows.length,
  };
};
