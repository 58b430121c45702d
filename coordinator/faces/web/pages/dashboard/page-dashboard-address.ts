import { type DashboardSort, dashboardSorts, type ShownStatus, shownStatuses } from '../../../../../shared/api/inner/inner-dashboard.ts';
import { query } from '../../web-html.ts';

/** What a dashboard shows, as its address says it: every view can be kept and sent. */
export type View = {
  readonly status: ShownStatus | null;
  readonly q: string;
  readonly group: string | null;
  readonly tag: string | null;
  readonly sort: DashboardSort;
  readonly page: number;
};

export const viewOf = (asked: Readonly<Record<string, string>>): View => {
  const page = Number(asked.page ?? 1);
  return {
    status: shownStatuses.find((status) => status === asked.status) ?? null,
    q: (asked.q ?? '').slice(0, 200),
    group: asked.group === undefined || asked.group === '' ? null : asked.group,
    tag: asked.tag === undefined || asked.tag === '' ? null : asked.tag.slice(0, 50),
    sort: dashboardSorts.find((sort) => sort === asked.sort) ?? 'state',
    page: Number.isInteger(page) && page > 0 && page <= 10_000 ? page : 1,
  };
};

/** Another view than the one that is shown; it begins at its first page. */
export const addressOf = (view: View, change: Partial<View> = {}): string => {
  const { status, q, group, tag, sort, page } = { ...view, page: 1, ...change };
  return `/${query({ status, q, group, tag, sort: sort === 'state' ? null : sort, page: page === 1 ? null : page })}`;
};
