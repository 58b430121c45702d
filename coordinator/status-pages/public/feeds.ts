import { html, safeUrl } from '../../web/html.ts';
import type { PageLanguage } from '../model.ts';
import { documentOf, type View } from './frame.ts';
import {
  embedPage,
  historyPage,
  mainPage,
  measuredPage,
  monthBegin,
  monthBeside,
  monthOf,
  sentenceOf,
  servicePage,
} from './render.ts';
import { type Body, bodyOf, type Kind } from './sending.ts';
import {
  dayState,
  monitorsOf,
  type PublicIncident,
  type PublicState,
  verdictOf,
} from './snapshot.ts';

const badgeKinds = ['status', 'uptime', 'response'] as const;
type BadgeKind = (typeof badgeKinds)[number];

/** White text has a contrast of 4.5 or more on each of them. */
const colours: Readonly<Record<PublicState, string>> = {
  up: '#0b6b55',
  down: '#b3091b',
  degraded: '#8a5300',
  partial_outage: '#b3091b',
  major_outage: '#b3091b',
  maintenance: '#3b4893',
  paused: '#505a66',
  pending: '#505a66',
};

/** Of the whole page, or of one service. Undefined when the page does not show that service. */
export function badge(view: View, kind: BadgeKind, id: string | undefined): string | undefined {
  const { page, words, formats } = view;
  const monitors = monitorsOf(page).filter((each) => id === undefined || each.id === id);
  if (id !== undefined && monitors.length === 0) return undefined;
  const [only] = monitors;
  if (kind === 'status') {
    const verdict = id === undefined ? verdictOf(page).is : (only?.state ?? 'pending');
    const state = verdict === 'empty' ? 'pending' : verdict;
    return drawn(
      id === undefined ? words.badge.status : (only?.name ?? ''),
      words.states[state].toLowerCase(),
      colours[state],
    );
  }
  // For a whole page the lowest value is more honest than a mean, which hides one service that is
  // down.
  const percents = monitors.flatMap(({ percent }) => (percent[90] === null ? [] : [percent[90]]));
  const responses = monitors.flatMap(({ responseMs }) => (responseMs === null ? [] : [responseMs]));
  if (kind === 'uptime') {
    const worst = percents.length === 0 ? null : Math.min(...percents);
    return drawn(
      words.badge.uptime,
      worst === null ? '–' : formats.percent(worst),
      worst === null ? colours.pending : worst >= 99 ? colours.up : colours.down,
    );
  }
  const slowest = responses.length === 0 ? null : Math.max(...responses);
  return drawn(
    words.badge.response,
    slowest === null ? '–' : formats.milliseconds(slowest),
    slowest === null ? colours.pending : colours.up,
  );
}

function drawn(label: string, value: string, colour: string): string {
  const [left, right] = [widthOf(label), widthOf(value)];
  return html`
    <svg
      xmlns="http://www.w3.org/2000/svg"
      width="${left + right}"
      height="20"
      viewBox="0 0 ${left + right} 20"
      role="img"
      aria-label="${`${label}: ${value}`}"
    >
      <title>${`${label}: ${value}`}</title>
      <clipPath id="r"><rect width="${left + right}" height="20" rx="4"/></clipPath>
      <g clip-path="url(#r)">
        <rect width="${left}" height="20" fill="#30363d"/>
        <rect x="${left}" width="${right}" height="20" fill="${colour}"/>
      </g>
      <g
        fill="#fff"
        font-family="Verdana,DejaVu Sans,sans-serif"
        font-size="11"
        text-anchor="middle"
      >
        <text x="${left / 2}" y="14">${label}</text>
        <text x="${left + right / 2}" y="14">${value}</text>
      </g>
    </svg>
  `.toString();
}

/** The approximate width of a text in that font: a badge has no way to measure. */
function widthOf(text: string): number {
  let width = 0;
  for (const letter of text)
    width += /[il.,:' |!]/.test(letter)
      ? 3.4
      : /[mwMW%]/.test(letter)
        ? 10
        : /[A-Z]/.test(letter)
          ? 7.8
          : 6.6;
  return Math.ceil(width) + 12;
}

/** For programs: the data of the page, and nothing more. */
export function atomFeed(view: View): string {
  const { page, origin, language } = view;
  const updated = Math.max(0, ...page.incidents.map(changedAt));
  return `<?xml version="1.0" encoding="utf-8"?>\n${html`
    <feed xmlns="http://www.w3.org/2005/Atom" xml:lang="${language}">
      <title>${xmlText(page.title)}</title>
      <id>${origin}</id>
      <link rel="alternate" type="text/html" href="${safeUrl(origin)}"/>
      <link rel="self" type="application/atom+xml" href="${safeUrl(`${origin}/feed.atom`)}"/>
      <updated>${iso(updated === 0 ? page.now : updated)}</updated>
      <author><name>${xmlText(page.title)}</name></author>
      ${page.incidents.map(
        (incident) =>
          html`
            <entry>
              <id>urn:uuid:${incident.id}</id>
              <title>${xmlText(titleOf(incident, view))}</title>
              <link
                rel="alternate"
                type="text/html"
                href="${safeUrl(entryAddress(view, incident))}"
              />
              <published>${iso(incident.startedAt)}</published>
              <updated>${iso(changedAt(incident))}</updated>
              <content type="text">${xmlText(textOf(incident, view))}</content>
            </entry>
          `,
      )}
    </feed>
  `.toString()}`;
}

/** The newest change first, so that feed readers show it at the top. */
function changedAt({ startedAt, resolvedAt, posts, postMortem }: PublicIncident): number {
  return Math.max(startedAt, resolvedAt ?? 0, postMortem?.at ?? 0, ...posts.map(({ at }) => at));
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

function titleOf({ title, names, resolvedAt }: PublicIncident, { words, formats }: View): string {
  return resolvedAt === null
    ? (title ?? words.incident(formats.list(names)))
    : `${words.posts.resolved}: ${title ?? formats.list(names)}`;
}

function entryAddress({ origin }: View, { id }: PublicIncident): string {
  return `${origin}#i-${id}`;
}

function textOf(
  { startedAt, resolvedAt, posts, postMortem }: PublicIncident,
  { words, formats, page }: View,
): string {
  return [
    resolvedAt === null
      ? words.sinceFor(formats.whole(startedAt), formats.duration(page.now - startedAt))
      : `${words.fromTo(formats.whole(startedAt), formats.whole(resolvedAt))}. ${words.incidentOver(formats.duration(resolvedAt - startedAt))}`,
    ...posts
      .toReversed()
      .map(({ kind, text, at }) => `${formats.whole(at)} – ${words.posts[kind]}: ${text}`),
    ...(postMortem ? [`${words.postMortem}\n${postMortem.text}`] : []),
  ].join('\n');
}

/** XML cannot represent most control characters, nor half of a surrogate pair. */
export function xmlText(text: string): string {
  return [...text.toWellFormed()]
    .filter(
      (letter) => /[\t\n\r]/.test(letter) || (letter >= ' ' && !/[\ufffe\uffff]/.test(letter)),
    )
    .join('');
}

export function jsonFeed(view: View): string {
  const { page, origin, language } = view;
  return JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1',
    title: page.title,
    home_page_url: origin,
    feed_url: `${origin}/feed.json`,
    language,
    items: page.incidents.map((incident) => ({
      id: incident.id,
      url: entryAddress(view, incident),
      title: titleOf(incident, view),
      content_text: textOf(incident, view),
      date_published: iso(incident.startedAt),
      date_modified: iso(changedAt(incident)),
    })),
  });
}

export function maintenanceCalendar(view: View): string {
  const { page, words, formats, origin } = view;
  const host = URL.canParse(origin) ? new URL(origin).hostname : 'antipode';
  const events = page.maintenance.flatMap(({ id, startsAt, endsAt, names }) => [
    'BEGIN:VEVENT',
    `UID:${id}-${stamp(startsAt)}@${host}`,
    `DTSTAMP:${stamp(page.now)}`,
    `DTSTART:${stamp(startsAt)}`,
    `DTEND:${stamp(endsAt)}`,
    `SUMMARY:${icsText(`${words.states.maintenance}: ${formats.list(names)}`)}`,
    `URL:${origin}`,
    'TRANSP:TRANSPARENT',
    'END:VEVENT',
  ]);
  const name = icsText(`${page.title}: ${words.states.maintenance}`);
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Antipode//status page//EN',
    `NAME:${name}`,
    `X-WR-CALNAME:${name}`,
  ];
  return `${[...lines, ...events, 'END:VCALENDAR'].map(folded).join('\r\n')}\r\n`;
}

function stamp(at: number): string {
  return iso(at).replaceAll(/[-:]|\.\d{3}/g, '');
}

function icsText(text: string): string {
  return text.replaceAll(/[\\;,]/g, '\\$&').replaceAll(/\r?\n|\r/g, '\\n');
}

/** Lines of at most 75 bytes; continuation lines begin with a space (RFC 5545, 3.1). */
function folded(line: string): string {
  const parts: string[] = [];
  let part = '';
  let bytes = 0;
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (bytes + size > (parts.length === 0 ? 75 : 74)) {
      parts.push(part);
      [part, bytes] = ['', 0];
    }
    part += character;
    bytes += size;
  }
  return [...parts, part].join('\r\n ');
}

/** The page as JSON, for programs. Keys are added, never removed. */
export function pageJson(view: View): string {
  const { page, origin } = view;
  const verdict = verdictOf(page);
  let group: string | null = null;
  const services: object[] = [];
  for (const row of page.rows) {
    if (row.kind === 'group') group = row.name;
    else
      services.push({
        id: row.id,
        name: row.name,
        group: row.isUnder ? group : null,
        status: row.state,
        warnings:
          row.slowSince === null
            ? []
            : [{ code: 'slow', since: iso(row.slowSince), text: view.words.slow }],
        uptime: { days_7: row.percent[7], days_30: row.percent[30], days_90: row.percent[90] },
        days: row.days.map((each) => ({
          from: iso(each.from),
          state: dayState(each),
          down_seconds: Math.round(each.down / 1_000),
        })),
      });
  }
  return JSON.stringify({
    title: page.title,
    url: origin,
    status: verdict.is,
    sentence: sentenceOf(verdict, view),
    read_at: iso(page.now),
    stale: view.isStale,
    services,
    objectives: page.objectives.map(({ left, ...promise }) => ({
      ...promise,
      kept: left === null ? null : left >= 0,
    })),
    incidents: page.incidents.map(
      ({ id, title, names, impacts, startedAt, resolvedAt, posts, postMortem }) => ({
        id,
        // Null: checks confirmed it. A report without services is an announcement.
        title,
        services: names,
        impacts,
        started_at: iso(startedAt),
        resolved_at: resolvedAt === null ? null : iso(resolvedAt),
        posts: posts.map(({ kind, text, at }) => ({ kind, text, at: iso(at) })),
        post_mortem: postMortem ? { text: postMortem.text, at: iso(postMortem.at) } : null,
      }),
    ),
    maintenance: page.maintenance.map(({ startsAt, endsAt, names }) => ({
      services: names,
      starts_at: iso(startsAt),
      ends_at: iso(endsAt),
    })),
    monitored: monitorsOf(page).length,
  });
}

/** The documents of a page, and how each is made. */
export type DocumentRequest = {
  readonly show: Show;
  /** Which service, or which month. */
  readonly of: string | undefined;
  readonly badge: string | undefined;
  readonly language: PageLanguage | undefined;
};

export type Rendered = {
  readonly kind: Kind;
  readonly type: string;
  readonly body: Body;
  readonly isFound: boolean;
};

type Making = {
  readonly view: View;
  readonly asked: DocumentRequest;
  readonly style: string;
  readonly incidents: (from: number, to: number) => Promise<readonly PublicIncident[]>;
};

type Make = (making: Making) => Promise<Rendered | undefined> | Rendered | undefined;

/** No month before it has any history. */
const firstMonth = '2020-01';

const history: Make = async ({ view, asked, style, incidents }) => {
  const now = monthOf(view.page.now);
  const month = asked.of ?? now;
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month) || month > now || month < firstMonth) return undefined;
  const found = await incidents(monthBegin(month), monthBegin(monthBeside(month, 1)));
  return document(historyPage(view, style, month, found), found.length > 0);
};

function document(text: string, isFound = true): Rendered {
  return {
    kind: 'page',
    type: 'text/html; charset=utf-8',
    body: bodyOf(text),
    isFound,
  };
}

export const shows = {
  main: ({ view, style }) => document(mainPage(view, style)),
  service: ({ view, style, asked }) => {
    const text = servicePage(view, style, asked.of ?? '');
    return text === undefined ? undefined : document(text);
  },
  history,
  measured: ({ view, style }) => document(measuredPage(view, style)),
  embed: ({ view, style }) => {
    const text = documentOf({
      language: view.language,
      title: view.page.title,
      style,
      body: embedPage(view),
      kind: 'embed',
    });
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

function data(type: string, text: string): Rendered {
  return {
    kind: 'data',
    type,
    body: bodyOf(text),
    isFound: false,
  };
}

type Show = keyof typeof shows;
