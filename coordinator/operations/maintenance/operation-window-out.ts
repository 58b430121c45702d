import type { Schedule } from '../../domain/maintenance.ts';
import { type Ahead, occurrencesAhead } from '../../domain/maintenance-ahead.ts';
import { ruleFrom } from '../../domain/maintenance-rule.ts';
import { ruleWords } from '../../domain/maintenance-words.ts';
import type { ShownWindow } from '../../store/store-maintenance.ts';

const localText = (local: number): string => new Date(local).toISOString().slice(0, 19);

const occurrenceOut = ({ from, to, local_from, local_to, notes }: Ahead) => ({
  starts_at: new Date(from).toISOString(),
  ends_at: new Date(to).toISOString(),
  local_start: localText(local_from),
  local_end: localText(local_to),
  notes,
});

/** How it repeats, and what comes of that. */
export const aheadOut = (schedule: Schedule, now: number, cut_at: number | null = null) => ({
  time_zone: schedule.time_zone,
  repeats: schedule.rrule === null ? null : ruleWords(ruleFrom(schedule.rrule), schedule.local_start),
  next_occurrences: occurrencesAhead(schedule, now, { cut_at }).map(occurrenceOut),
});

export const windowOut = (row: ShownWindow, now: number) => ({
  id: row.id,
  name: row.name,
  starts_at: row.starts_at.toISOString(),
  ends_at: row.ends_at.toISOString(),
  rrule: row.rrule,
  monitors: row.monitors,
  groups: row.groups,
  ...aheadOut(row.schedule, now, row.cut_at),
});

export const stateAt = ({ schedule, cut_at }: ShownWindow, now: number): 'running' | 'coming' | 'over' => {
  const [next] = occurrencesAhead(schedule, now, { most: 1, cut_at });
  if (next === undefined) return 'over';
  return next.from <= now ? 'running' : 'coming';
};

/** For the audit log. */
export const windowNoted = ({ name, starts_at, ends_at, rrule, monitors, groups }: ShownWindow) => ({
  ...{ name, starts_at: starts_at.toISOString(), ends_at: ends_at.toISOString(), rrule, monitors, groups },
});
