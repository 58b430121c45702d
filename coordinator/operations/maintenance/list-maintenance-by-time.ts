import { maintenanceRows, type listMaintenanceByTime as operation } from '../../../shared/api/inner/inner-maintenance.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { occurrencesAhead } from '../../domain/maintenance-ahead.ts';
import { ruleFrom } from '../../domain/maintenance-rule.ts';
import { ruleWords } from '../../domain/maintenance-words.ts';
import { scheduleFrom } from '../../store/store-maintenance.ts';
import { countByTime, type WindowByTime, windowsByTime } from '../../store/store-maintenance-by-time.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

/** One whose next occurrence is months away has none written down yet. */
const timeOf = (row: WindowByTime, now: number): { readonly from: number; readonly to: number } => {
  if (row.began_at !== null && row.ended_at !== null) return { from: row.began_at.getTime(), to: row.ended_at.getTime() };
  const schedule = scheduleFrom(row);
  return occurrencesAhead(schedule, now, { most: 1 })[0] ?? { from: schedule.starts_at, to: schedule.ends_at };
};

const rowOut = (row: WindowByTime, now: number) => {
  const { id, name, state, rrule, local_start, covers, monitors, groups } = row;
  const { from, to } = timeOf(row, now);
  return {
    ...{ id, name, state, covers, monitors, groups },
    starts_at: new Date(from).toISOString(),
    ends_at: new Date(to).toISOString(),
    repeats: rrule === null ? null : ruleWords(ruleFrom(rrule), Date.parse(local_start)),
  };
};

export const listMaintenanceByTime = async (
  { sql, organisation, now }: InOrganisation,
  { over, page }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const place = { over, now, offset: (page - 1) * maintenanceRows, most: maintenanceRows };
  const [counts, rows] = await Promise.all([countByTime(sql, organisation.id, now), windowsByTime(sql, organisation.id, place)]);
  return { ...counts, items: rows.map((row) => rowOut(row, now)) };
};
