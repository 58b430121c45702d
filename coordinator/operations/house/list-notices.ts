import type { listNotices as operation } from '../../../shared/api/inner/inner-house.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { remedyOf } from '../../domain/notice.ts';
import { noticesSince } from '../../store/store-notices.ts';
import type { Answer, Context } from '../operation-context.ts';
import { daysBefore } from './operation-days-before.ts';

export const listNotices = async ({ sql, now }: Context, { days }: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const items = (await noticesSince(sql, daysBefore(now, days))).map(({ began_at, ended_at, ...notice }) => ({
    ...notice,
    what_to_do: ended_at === null ? remedyOf(notice.kind) : null,
    began_at: began_at.toISOString(),
    ended_at: ended_at?.toISOString() ?? null,
  }));
  return { items, open: items.filter(({ ended_at }) => ended_at === null).length };
};
