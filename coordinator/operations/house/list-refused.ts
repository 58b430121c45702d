import type { listRefused as operation } from '../../../shared/api/inner/inner-house.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { meaningOfRefused } from '../../domain/refused-reason.ts';
import { refusedSince } from '../../store/store-refusal-counts.ts';
import type { Answer, Context } from '../operation-context.ts';
import { daysBefore } from './operation-days-before.ts';

export const listRefused = async (
  { sql, now }: Context,
  { days, probe_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const items = (await refusedSince(sql, daysBefore(now, days), probe_id)).map(({ day, probe, name, reason, count, last_at }) => ({
    ...{ day, probe, probe_name: name, reason, meaning: meaningOfRefused(reason), count },
    last_at: last_at.toISOString(),
  }));
  return { items, count: items.reduce((sum, { count }) => sum + count, 0) };
};
