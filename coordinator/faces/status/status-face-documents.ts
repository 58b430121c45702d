import type { PublicIncident } from '../../domain/public-page.ts';
import type { PageLanguage } from '../../domain/status-page.ts';
import { badge, badgeKinds } from './status-face-badge.ts';
import { atomFeed, jsonFeed, maintenanceCalendar, pageJson } from './status-face-feeds.ts';
import { documentOf } from './status-face-frame.ts';
import { embedPage, mainPage } from './status-face-page.ts';
import { type Body, bodyOf, type Kind } from './status-face-sending.ts';
import { historyPage, measuredPage, monthBegin, monthBeside, monthOf, servicePage } from './status-face-service.ts';
import type { View } from './status-face-view.ts';

/** What can be asked of a page, and how each is made of it. */
export type Asked = {
  readonly show: Show;
  /** Which service, or which month. */
  readonly of: string | undefined;
  readonly badge: string | undefined;
  readonly language: PageLanguage | undefined;
};

export type Rendered = { readonly kind: Kind; readonly type: string; readonly body: Body; readonly isFound: boolean };

type Making = {
  readonly view: View;
  readonly asked: Asked;
  readonly style: string;
  readonly incidents: (from: number, to: number) => Promise<readonly PublicIncident[]>;
};

type Make = (making: Making) => Promise<Rendered | undefined> | Rendered | undefined;

const document = (text: string, isFound = true): Rendered => ({
  kind: 'page',
  type: 'text/html; charset=utf-8',
  body: bodyOf(text),
  isFound,
});
const data = (type: string, text: string): Rendered => ({ kind: 'data', type, body: bodyOf(text), isFound: false });

/** Before that there was nothing to tell of. */
const firstMonth = '2020-01';

const history: Make = async ({ view, asked, style, incidents }) => {
  const now = monthOf(view.page.now);
  const month = asked.of ?? now;
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month) || month > now || month < firstMonth) return undefined;
  const found = await incidents(monthBegin(month), monthBegin(monthBeside(month, 1)));
  return document(historyPage(view, style, month, found), found.length > 0);
};

export const shows = {
  main: ({ view, style }) => document(mainPage(view, style)),
  service: ({ view, style, asked }) => {
    const text = servicePage(view, style, asked.of ?? '');
    return text === undefined ? undefined : document(text);
  },
  history,
  measured: ({ view, style }) => document(measuredPage(view, style)),
  embed: ({ view, style }) => {
    const text = documentOf({ language: view.language, title: view.page.title, style, body: embedPage(view), kind: 'embed' });
    return { kind: 'embed', type: 'text/html; charset=utf-8', body: bodyOf(text), isFound: false };
  },
  json: ({ view }) => data('application/json; charset=utf-8', pageJson(view)),
  atom: ({ view }) => data('application/atom+xml; charset=utf-8', atomFeed(view)),
  feed: ({ view }) => data('application/feed+json; charset=utf-8', jsonFeed(view)),
  calendar: ({ view }) => data('text/calendar; charset=utf-8', maintenanceCalendar(view)),
  badge: ({ view, asked }) => {
    const kind = badgeKinds.find((each) => each === (asked.badge ?? 'status'));
    const text = kind === undefined ? undefined : badge(view, kind, asked.of);
    return text === undefined ? undefined : data('image/svg+xml; charset=utf-8', text);
  },
  robots: () => data('text/plain; charset=utf-8', 'User-agent: *\nAllow: /\n'),
} as const satisfies Record<string, Make>;

export type Show = keyof typeof shows;
