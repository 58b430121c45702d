import { type Kind, kinds } from '../../../shared/checks/kinds.ts';
import { type WarningCode, warningCodes } from '../../../shared/checks/warnings.ts';
import { query } from '../../web/html.ts';
import {
  type DashboardSort,
  dashboardSorts,
  type StatusRow,
  statusRows,
  tagsIn,
} from '../contract.ts';

/** What a dashboard shows, as its address says it: every view can be bookmarked and shared. */
export type View = {
  readonly status: StatusRow | null;
  readonly kind: Kind | null;
  readonly q: string;
  readonly group: string | null;
  /** Each of them. */
  readonly tags: readonly string[];
  /** A code, or any. */
  readonly warning: WarningCode | 'any' | null;
  readonly sort: DashboardSort;
  readonly page: number;
};

const maxTags = 10;
const isId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function viewOf(asked: Readonly<Record<string, string>>): View {
  const page = Number(asked.page ?? 1);
  return {
    status: statusRows.find((status) => status === asked.status) ?? null,
    kind: kinds.find((kind) => kind === asked.kind) ?? null,
    q: (asked.q ?? '').slice(0, 200),
    group: asked.group !== undefined && isId.test(asked.group) ? asked.group : null,
    tags: tagsIn(asked.tag ?? '')
      .map((tag) => tag.slice(0, 50))
      .slice(0, maxTags),
    warning: (['any', ...warningCodes] as const).find((one) => one === asked.warning) ?? null,
    sort: dashboardSorts.find((sort) => sort === asked.sort) ?? 'group',
    page: Number.isInteger(page) && page > 0 && page <= 10_000 ? page : 1,
  };
}

/** As the operations of the dashboard take it. */
export function inputOf({ tags, ...view }: View) {
  return {
    ...view,
    tag: tags.length === 0 ? null : tags.join(','),
  };
}

/** Without any filter, in the same order. */
export const unfiltered = {
  status: null,
  kind: null,
  q: '',
  group: null,
  tags: [],
  warning: null,
} as const;

export function isNarrowed({ status, kind, q, group, tags, warning }: View): boolean {
  return (
    [status, kind, group, warning].some((one) => one !== null) || q.trim() !== '' || tags.length > 0
  );
}

/** The address of a changed view; it begins at its first page. */
export function addressOf(view: View, change: Partial<View> = {}): string {
  const { sort, page, ...filters } = inputOf({ ...view, page: 1, ...change });
  return `/${query({ ...filters, sort: sort === 'group' ? null : sort, page: page === 1 ? null : page })}`;
}

/** Only to the lists that these forms are on. */
export function backTo(back: string | undefined): string {
  return back !== undefined && /^\/(?:\?|$|groups\/[\w-]+$)/.test(back) ? back : '/';
}
