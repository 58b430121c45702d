import { dayState, monitorsOf, type PublicIncident, verdictOf } from '../../domain/public-page.ts';
import { html, safeUrl } from '../web/web-html.ts';
import { sentenceOf } from './status-face-page.ts';
import type { View } from './status-face-view.ts';

/** What programs read of a page: the same value, and nothing more. */

const iso = (at: number): string => new Date(at).toISOString();

/** The newest change first: what happened last stands on top of a reader. */
const changedAt = ({ startedAt, resolvedAt, posts }: PublicIncident): number =>
  Math.max(startedAt, resolvedAt ?? 0, ...posts.map(({ at }) => at));

const titleOf = ({ names, resolvedAt }: PublicIncident, { words, formats }: View): string =>
  resolvedAt === null ? words.incident(formats.list(names)) : `${words.posts.resolved}: ${formats.list(names)}`;

const textOf = ({ startedAt, resolvedAt, posts }: PublicIncident, { words, formats, page }: View): string =>
  [
    resolvedAt === null
      ? words.sinceFor(formats.whole(startedAt), formats.duration(page.now - startedAt))
      : `${words.fromTo(formats.whole(startedAt), formats.whole(resolvedAt))}. ${words.incidentOver(formats.duration(resolvedAt - startedAt))}`,
    ...posts.toReversed().map(({ kind, text, at }) => `${formats.whole(at)} – ${words.posts[kind]}: ${text}`),
  ].join('\n');

const entryAddress = ({ origin }: View, { id }: PublicIncident): string => `${origin}#i-${id}`;

export const atomFeed = (view: View): string => {
  const { page, origin, language } = view;
  const updated = Math.max(0, ...page.incidents.map(changedAt));
  return `<?xml version="1.0" encoding="utf-8"?>\n${html`<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="${language}"><title>${xmlText(page.title)}</title><id>${origin}</id><link rel="alternate" type="text/html" href="${safeUrl(origin)}"/><link rel="self" type="application/atom+xml" href="${safeUrl(`${origin}/feed.atom`)}"/><updated>${iso(updated === 0 ? page.now : updated)}</updated><author><name>${xmlText(page.title)}</name></author>${page.incidents.map(
    (incident) =>
      html`<entry><id>urn:uuid:${incident.id}</id><title>${xmlText(titleOf(incident, view))}</title><link rel="alternate" type="text/html" href="${safeUrl(entryAddress(view, incident))}"/><published>${iso(incident.startedAt)}</published><updated>${iso(changedAt(incident))}</updated><content type="text">${xmlText(textOf(incident, view))}</content></entry>`,
  )}</feed>`.toString()}`;
};

/** XML has no word for most control characters, nor for half of a pair. */
export const xmlText = (text: string): string =>
  [...text.toWellFormed()].filter((letter) => /[\t\n\r]/.test(letter) || (letter >= ' ' && !/[\ufffe\uffff]/.test(letter))).join('');

export const jsonFeed = (view: View): string => {
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
};

const stamp = (at: number): string => iso(at).replaceAll(/[-:]|\.\d{3}/g, '');

const icsText = (text: string): string => text.replaceAll(/[\\;,]/g, '\\$&').replaceAll(/\r?\n|\r/g, '\\n');

/** Lines of at most 75 bytes; the next begins with a space (RFC 5545, 3.1). */
const folded = (line: string): string => {
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
};

export const maintenanceCalendar = (view: View): string => {
  const { page, words, formats, origin } = view;
  const host = URL.canParse(origin) ? new URL(origin).hostname : 'antipode';
  const events = page.maintenance.flatMap(({ id, startsAt, endsAt, names }) => [
    'BEGIN:VEVENT',
    `UID:${id}-${stamp(startsAt)}@${host}`,
    `DTSTAMP:${stamp(page.now)}`,
    `DTSTART:${stamp(startsAt)}`,
    `DTEND:${stamp(endsAt)}`,
    `SUMMARY:${icsText(`${words.maintenance}: ${formats.list(names)}`)}`,
    `URL:${origin}`,
    'TRANSP:TRANSPARENT',
    'END:VEVENT',
  ]);
  const name = icsText(`${page.title}: ${words.maintenance}`);
  const lines = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Antipode//status page//EN', `NAME:${name}`, `X-WR-CALNAME:${name}`];
  return `${[...lines, ...events, 'END:VCALENDAR'].map(folded).join('\r\n')}\r\n`;
};

/** The page as a value, for whoever builds something of their own. Keys are added, never taken away. */
export const pageJson = (view: View): string => {
  const { page, origin } = view;
  const verdict = verdictOf(page);
  let group: string | null = null;
  const services: object[] = [];
  for (const row of page.rows) {
    if (row.kind === 'group') group = row.name;
    else
      services.push({
        ...{ id: row.id, name: row.name, group: row.isUnder ? group : null, status: row.state },
        uptime: { days_7: row.percent[7], days_30: row.percent[30], days_90: row.percent[90] },
        days: row.days.map((each) => ({ from: iso(each.from), state: dayState(each), down_seconds: Math.round(each.down / 1_000) })),
      });
  }
  return JSON.stringify({
    ...{
      title: page.title,
      url: origin,
      status: verdict.is,
      sentence: sentenceOf(verdict, view),
      read_at: iso(page.now),
      stale: view.isStale,
    },
    services,
    incidents: page.incidents.map(({ id, names, startedAt, resolvedAt, posts }) => ({
      ...{ id, services: names, started_at: iso(startedAt), resolved_at: resolvedAt === null ? null : iso(resolvedAt) },
      posts: posts.map(({ kind, text, at }) => ({ kind, text, at: iso(at) })),
    })),
    maintenance: page.maintenance.map(({ startsAt, endsAt, names }) => ({
      services: names,
      starts_at: iso(startsAt),
      ends_at: iso(endsAt),
    })),
    monitored: monitorsOf(page).length,
  });
};
