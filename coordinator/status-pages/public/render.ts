import { createHash } from 'node:crypto';
import { type Html, html, safeUrl } from '../../web/html.ts';
import { type PageLanguage, pageLanguages } from '../model.ts';
import type { WaitingPage } from '../subscribers.ts';
import { type Formats, formatsOf } from './formats.ts';
import { type Body, bodyOf } from './sending.ts';
import {
  type DayState,
  dayState,
  monitorsOf,
  type PublicDay,
  type PublicIncident,
  type PublicMaintenance,
  type PublicMonitor,
  type PublicPage,
  type PublicState,
  percentDays,
  type Verdict,
  verdictOf,
} from './snapshot.ts';
import { styleText } from './style.ts';
import { type Words, wordsOf } from './words.ts';

/** A page for one reader: in a language, at an address. */
export type View = {
  readonly page: PublicPage;
  readonly language: PageLanguage;
  readonly words: Words;
  readonly formats: Formats;
  /** The prefix of its paths: `/status/shop`, or nothing on a domain of its own. */
  readonly root: string;
  /** With scheme and host, for feeds and badges: from BASE_URL or the proved domain. */
  readonly origin: string;
  /** Newer data could not be read. */
  readonly isStale: boolean;
  readonly hasMail: boolean;
  /** The service record of the installation, if it is public. */
  readonly aboutUs?: string | undefined;
};

export type ViewOptions = Pick<View, 'root' | 'origin' | 'isStale' | 'hasMail' | 'aboutUs'> & {
  readonly language?: PageLanguage | undefined;
};

export const viewOf = (page: PublicPage, { language = page.language, ...seen }: ViewOptions): View => ({
  ...{ ...seen, page, language, words: wordsOf[language] },
  formats: formatsOf(language, page.zone, page.now),
});

/** A path of this page, in the chosen language. */
export const pathOf = ({ root, language, page }: View, rest = ''): string => {
  const path = `${root}${rest}` || '/';
  return language === page.language ? path : `${path}?lang=${language}`;
};

type BarState = Exclude<DayState, 'none'>;

/** How tall a bar of each state is, out of 24: states differ even without colour. */
const heights: Readonly<Record<BarState, number>> = { down: 24, maintenance: 12, up: 18, unknown: 6 };
export const barStates: readonly BarState[] = ['up', 'down', 'maintenance', 'unknown'];

/**
 * Adjacent days with the same state are one shape, which the style cuts into bars. Otherwise ninety
 * bars for fifty services would fill a page.
 */
const runs = (states: readonly BarState[], state: BarState): string => {
  let path = '';
  for (let at = 0; at < states.length; at += 1) {
    if (states[at] !== state) continue;
    const from = at;
    while (states[at + 1] === state) at += 1;
    path += `M${from} ${24 - heights[state]}h${at - from + 1}v${heights[state]}H${from}z`;
  }
  return path;
};

/** What the bars show, for screen readers. */
const summary = (states: readonly BarState[], { words }: View): string => {
  const counted = (['down', 'maintenance', 'unknown', 'up'] as const)
    .map((state) => [state, states.filter((each) => each === state).length] as const)
    .filter(([, count]) => count > 0);
  return `${words.barsOf(states.length)}: ${counted.map(([state, count]) => words.dayCounts[state](count)).join(', ')}`;
};

export const bars = (days: readonly PublicDay[], view: View): Html => {
  // Before it was created, nothing was measured either.
  const states = days.map(dayState).map((state): BarState => (state === 'none' ? 'unknown' : state));
  return html`<svg class="bars" viewBox="0 0 ${days.length} 24" preserveAspectRatio="none" role="img" aria-label="${summary(states, view)}">${barStates.map(
    (state) => states.includes(state) && html`<path class="f-${state}" d="${runs(states, state)}"/>`,
  )}</svg>`;
};

/** What the bars mean, once for all of them. */
export const legend = ({ words, page, formats }: View, first: number | undefined): Html =>
  html`<p class="legend"><span>${words.eachBar}</span>${barStates.map(
    (state) =>
      html` <span class="key"><svg class="key-bar" viewBox="0 0 6 24" aria-hidden="true"><path class="f-${state}" d="M0 ${24 - heights[state]}h6v${heights[state]}H0z"/></svg>${words.legend[state]}</span>`,
  )}${first !== undefined && html` <span class="span">${formats.shortDay(first)} – ${formats.shortDay(page.now)} (${words.today})</span>`}</p>`;

/** The shapes of states, once per document: they differ by their outline alone. */
const shapes = html`<svg class="shapes" aria-hidden="true"><symbol id="up" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9.25"/><path d="m8 12.4 2.8 2.8L16 9.6"/></symbol><symbol id="down" viewBox="0 0 24 24"><path d="M8.2 2.75h7.6l5.45 5.45v7.6l-5.45 5.45H8.2L2.75 15.8V8.2Z"/><path d="m9 9 6 6M15 9l-6 6"/></symbol><symbol id="maintenance" viewBox="0 0 24 24"><path d="M20.4 6.9a5.6 5.6 0 0 1-7.5 6.9l-6.2 6.2a2.1 2.1 0 0 1-3-3l6.3-6.2a5.6 5.6 0 0 1 6.9-7.4l-3.2 3.2v3.4h3.4Z"/></symbol><symbol id="paused" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9.25"/><path d="M9.8 8.8v6.4M14.2 8.8v6.4"/></symbol><symbol id="pending" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9.25" stroke-dasharray="3.3 3.963"/></symbol></svg>`;

export const stateShape = (state: PublicState): Html => html`<svg class="icon" aria-hidden="true"><use href="#${state}"/></svg>`;

export const stateMark = (state: PublicState, words: string): Html =>
  html`<span class="state s-${state}">${stateShape(state)}${words}</span>`;

type Document = {
  readonly language: PageLanguage;
  readonly title: string;
  readonly style: string;
  readonly head?: Html | undefined;
  readonly body: Html;
  readonly kind?: string;
};

/** Any public document: no script, one style, nothing from elsewhere. */
export const documentOf = ({ language, title, style, head, body, kind = '' }: Document): string =>
  html`<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>${title}</title><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><link rel="stylesheet" href="${safeUrl(style)}"><link rel="icon" href="data:,">${head}</head><body class="${kind}">${shapes}${body}</body></html>`.toString();

/** The page's own colour, as a band: an SVG attribute needs no inline style. */
const band = (accent: string | null): Html | false =>
  accent !== null && html`<svg class="band" aria-hidden="true"><rect width="100%" height="100%" fill="${accent}"/></svg>`;

const languages = (view: View, rest: string): Html =>
  html`<p class="languages">${view.words.language}: ${pageLanguages.map((each, index) => {
    const address = pathOf({ ...view, language: each }, rest);
    const words = wordsOf[each].itself;
    return html`${index > 0 && ' · '}${each === view.language ? html`<b>${words}</b>` : html`<a href="${safeUrl(address)}" hreflang="${each}" lang="${each}" rel="nofollow">${words}</a>`}`;
  })}</p>`;

type Framed = {
  /** Appended to the page's own path. */
  readonly rest?: string;
  readonly title: string;
  readonly main: Html;
  /** A part of the page, with a link back. */
  readonly isPart?: boolean;
};

export const framed = (view: View, style: string, { rest = '', title, main, isPart = false }: Framed): string => {
  const { page, words, formats, root, language, origin } = view;
  const name = page.hasLogo ? html`<img class="logo" src="${safeUrl(`${root}/logo`)}" alt="${page.title}">` : page.title;
  const heading = isPart ? html`<p class="title"><a href="${safeUrl(pathOf(view))}">${name}</a></p>` : html`<h1 class="title">${name}</h1>`;
  return documentOf({
    ...{ language, title, style },
    head: html`<link rel="canonical" href="${safeUrl(`${origin}${rest}`)}"><link rel="alternate" type="application/atom+xml" title="${page.title}" href="${safeUrl(`${root}/feed.atom`)}"><link rel="alternate" type="application/feed+json" title="${page.title}" href="${safeUrl(`${root}/feed.json`)}">`,
    body: html`${band(page.accent)}<header>${heading}<a class="button" href="#updates">${words.updates}</a></header><main>${
      view.isStale && html`<p class="stale" role="status">${words.stale(formats.whole(page.now))}</p>`
    }${main}</main><footer>${updates(view)}${languages(view, rest)}<p>${words.timesIn(page.zone)} · ${words.asOf(formats.whole(page.now))} · <a href="${safeUrl(pathOf(view, '/measured'))}">${words.measured}</a>${view.aboutUs !== undefined && html` · <a href="${safeUrl(view.aboutUs)}">${words.aboutUs}</a>`}</p></footer>`,
  });
};

const updates = (view: View): Html => {
  const { words, root, language } = view;
  return html`<section id="updates"><h2>${words.updates}</h2>${
    view.hasMail &&
    html`<form method="post" action="${safeUrl(`${root}/subscribe`)}"><label for="email">${words.mailLabel}</label><div class="field"><input id="email" name="email" type="email" autocomplete="email" required maxlength="254"><input type="hidden" name="lang" value="${language}"><button>${words.mailSubmit}</button></div><p class="soft">${words.mailNote}</p></form>`
  }<p>${words.feeds}: <a href="${safeUrl(`${root}/feed.atom`)}">Atom</a> · <a href="${safeUrl(`${root}/feed.json`)}">JSON Feed</a> · <a href="${safeUrl(`${root}/maintenance.ics`)}">${words.calendar}</a></p></section>`;
};

/** The headline of the page. */
export const sentenceOf = (verdict: Verdict, { words, formats }: View): string => {
  if (verdict.is === 'down') return words.down(formats.list(verdict.names), verdict.names.length, verdict.of);
  if (verdict.is === 'maintenance') return words.maintenanceNow(formats.list(verdict.names.slice(0, 3)));
  return verdict.is === 'up' ? words.allUp : verdict.is === 'pending' ? words.pending : words.empty;
};

const latestPost = ({ incidents }: View['page']): string | undefined =>
  incidents.find(({ resolvedAt, posts }) => resolvedAt === null && posts.length > 0)?.posts.at(-1)?.text;

export const verdictBlock = (view: View): Html => {
  const { page, words, formats } = view;
  const verdict = verdictOf(page);
  const shape = verdict.is === 'empty' ? 'pending' : verdict.is;
  const since =
    verdict.is === 'down' && verdict.since !== null
      ? words.sinceFor(formats.momentText(verdict.since), formats.duration(page.now - verdict.since))
      : verdict.is === 'maintenance' && verdict.until !== null
        ? words.until(formats.momentText(verdict.until))
        : undefined;
  const said = verdict.is === 'down' ? latestPost(page) : undefined;
  return html`<section class="verdict v-${shape}">${stateShape(shape)}<div><p class="sentence">${sentenceOf(verdict, view)}</p>${
    (since !== undefined || said !== undefined) && html`<p>${since}${said !== undefined && html` ${said}`}</p>`
  }</div></section>`;
};

const percentText = ({ words, formats }: View, value: number | null): string => (value === null ? words.noFigure : formats.percent(value));

const service = (monitor: PublicMonitor, view: View): Html => {
  const { words } = view;
  const name = html`<a class="name" href="${safeUrl(pathOf(view, `/services/${monitor.id}`))}">${monitor.name}</a>`;
  return html`<li><div class="line">${name}<span class="percent">${percentText(view, monitor.percent[90])}</span>${stateMark(monitor.state, words.states[monitor.state])}</div>${bars(monitor.days, view)}</li>`;
};

/** Groups with their monitors; monitors without a group have no heading. */
const sections = (view: View): Html[] => {
  const parts: { name: string | null; monitors: PublicMonitor[] }[] = [];
  for (const row of view.page.rows) {
    if (row.kind === 'group') parts.push({ name: row.name, monitors: [] });
    else if (row.isUnder || parts.at(-1)?.name === null) parts.at(-1)?.monitors.push(row);
    else parts.push({ name: null, monitors: [row] });
  }
  return parts
    .filter(({ monitors }) => monitors.length > 0)
    .map(
      ({ name, monitors }) =>
        html`<section class="card">${name !== null && html`<h2>${name}</h2>`}<ul class="services">${monitors.map((each) => service(each, view))}</ul></section>`,
    );
};

/** `isSaid`: the headline above it says already since when it lasts. */
export const incidentBlock = (incident: PublicIncident, view: View, level: 2 | 3, isSaid = false): Html => {
  const { words, formats, page } = view;
  const { names, startedAt, resolvedAt, posts } = incident;
  const title = words.incident(formats.list(names));
  const span =
    resolvedAt === null
      ? words.sinceFor(formats.momentText(startedAt), formats.duration(page.now - startedAt))
      : html`${formats.range(startedAt, resolvedAt)}. ${words.incidentOver(formats.duration(resolvedAt - startedAt))}`;
  return html`<article class="incident${resolvedAt === null && ' open'}" id="i-${incident.id}">${level === 2 ? html`<h2>${title}</h2>` : html`<h3>${title}</h3>`}${!isSaid && html`<p class="soft">${span}</p>`}${
    posts.length > 0 &&
    html`<ol class="posts">${posts.toReversed().map(({ kind, text, at }) => html`<li><b>${words.posts[kind]}</b> <span class="soft">${formats.moment(at)}</span><p>${text}</p></li>`)}</ol>`
  }</article>`;
};

const maintenanceLine = ({ names, startsAt, endsAt }: PublicMaintenance, { words, formats, page }: View): Html => {
  const isRunning = startsAt <= page.now;
  return html`<li><b>${formats.list(names)}</b> <span class="soft">${isRunning ? words.running : words.coming}</span><p class="soft">${formats.range(startsAt, endsAt)}</p></li>`;
};

export const mainPage = (view: View, style: string): string => {
  const { page, words } = view;
  const open = page.incidents.filter(({ resolvedAt }) => resolvedAt === null);
  const over = page.incidents.filter(({ resolvedAt }) => resolvedAt !== null);
  const verdict = verdictOf(page);
  const isSaid = ({ posts }: PublicIncident): boolean => open.length === 1 && posts.length > 0 && verdict.is === 'down';
  const first = monitorsOf(page)[0]?.days[0]?.from;
  return framed(view, style, {
    title: `${sentenceOf(verdict, view)} – ${page.title}`,
    main: html`${verdictBlock(view)}${page.description !== null && html`<p class="about">${page.description}</p>`}${open.map((each) => incidentBlock(each, view, 2, isSaid(each)))}${sections(view)}${first !== undefined && legend(view, first)}${
      page.maintenance.length > 0 &&
      html`<section class="card"><h2>${words.maintenance}</h2><ul class="plain">${page.maintenance.map((each) => maintenanceLine(each, view))}</ul></section>`
    }<section class="card"><h2>${words.past}</h2>${
      over.length === 0 ? html`<p class="soft">${words.noneRecent}</p>` : over.map((each) => incidentBlock(each, view, 3))
    }<p><a href="${safeUrl(pathOf(view, '/history'))}">${words.allPast}</a></p></section>`,
  });
};

/** In a frame on another site: the headline, and what is not up. */
export const embedPage = (view: View): Html => {
  const { page, words, origin } = view;
  const troubled = monitorsOf(page).filter(({ state }) => state === 'down' || state === 'maintenance');
  return html`<main><h1 class="small"><a href="${safeUrl(origin)}" target="_blank" rel="noopener">${page.title}</a></h1>${verdictBlock(view)}${
    troubled.length > 0 &&
    html`<ul class="services">${troubled.slice(0, 5).map(({ name, state }) => html`<li><div class="line"><span class="name">${name}</span>${stateMark(state, words.states[state])}</div></li>`)}</ul>`
  }</main>`;
};

/** Documents that show no page: it does not exist, cannot be read, or is private. */

const said = (language: PageLanguage, style: string, title: string, more: Html | string): string =>
  documentOf({ language, title, style, body: html`<main class="said"><h1>${title}</h1>${more}</main>` });

/** The same for a page that never existed and for one that is not shown. */
export const gonePage = (style: string): string => said('en', style, wordsOf.en.gone, html`<p>${wordsOf.en.goneText}</p>`);

export const awayPage = (style: string): string => said('en', style, wordsOf.en.away, html`<p>${wordsOf.en.awayText}</p>`);

export type LockedWhy = 'asked' | 'wrong' | 'too-many';

/** Reveals nothing about the page but that it exists. */
export const lockedPage = (
  { language }: Pick<PublicPage, 'language'>,
  style: string,
  root: string,
  byPassword: boolean,
  why: LockedWhy,
): string => {
  const words = wordsOf[language];
  const fault = why === 'wrong' ? words.wrong : why === 'too-many' ? words.tooMany : undefined;
  return said(
    language,
    style,
    words.locked,
    byPassword
      ? html`<form method="post" action="${safeUrl(`${root}/enter`)}">${fault !== undefined && html`<p class="stale" role="alert">${fault}</p>`}<label for="password">${words.password}</label><div class="field"><input id="password" name="password" type="password" autocomplete="current-password" required maxlength="200"><button>${words.enter}</button></div></form>`
      : html`<p>${words.lockedByLink}</p>`,
  );
};

type Subscribed = { readonly language: PageLanguage; readonly style: string; readonly root: string };

const backTo = ({ language, root }: Subscribed): Html => html`<p><a href="${safeUrl(root || '/')}">${wordsOf[language].back}</a></p>`;

/** The result of an action. */
export const subscribePage = (of: Subscribed, title: string, text?: string): string =>
  said(of.language, of.style, title, html`${text !== undefined && html`<p>${text}</p>`}${backTo(of)}`);

/**
 * The target of a link in a mail. It does nothing by itself: prefetching programs follow links,
 * people press buttons.
 */
export const askingPage = (of: Subscribed, path: string, title: string, button: string, pages: readonly WaitingPage[] = []): string => {
  const list = html`<ul>${pages.map(({ slug, title: name }) => html`<li>${name}<input type="hidden" name="page" value="${slug}"></li>`)}</ul>`;
  return said(
    of.language,
    of.style,
    title,
    html`<form method="post" action="${safeUrl(path)}">${pages.length > 1 && list}<button>${button}</button></form>${backTo(of)}`,
  );
};

/**
 * One service: its figures, its days as bars, and each day that was not simply up, in words.
 * Undefined when the page does not show it.
 */
export const servicePage = (view: View, style: string, id: string): string | undefined => {
  const { page, words, formats } = view;
  const monitor = monitorsOf(page).find((each) => each.id === id);
  if (monitor === undefined) return undefined;
  const troubled = monitor.days.filter((each) => each.down > 0 || each.maintenance > 0).toReversed();
  const own = page.incidents.filter(({ monitors }) => monitors.includes(id));
  return framed(view, style, {
    rest: `/services/${id}`,
    title: `${monitor.name}: ${words.states[monitor.state]} – ${page.title}`,
    isPart: true,
    main: html`<p><a href="${safeUrl(pathOf(view))}">${words.back}</a></p><section class="card"><div class="line"><h1>${monitor.name}</h1>${stateMark(monitor.state, words.states[monitor.state])}</div>${bars(monitor.days, view)}<dl class="figures">${percentDays.map(
      (days) => {
        const value = monitor.percent[days];
        return html`<div><dt>${words.uptimeOver(days)}</dt><dd>${value === null ? words.noFigure : formats.percent(value)}</dd></div>`;
      },
    )}</dl></section>${legend(view, monitor.days[0]?.from)}${own.map((each) => incidentBlock(each, view, 2))}<section class="card">${
      troubled.length === 0
        ? html`<p class="soft">${words.noTrouble}</p>`
        : html`<table><thead><tr><th scope="col">${words.day}</th><th scope="col">${words.outage}</th><th scope="col">${words.maintenance}</th></tr></thead><tbody>${troubled.map(
            (each) =>
              html`<tr><td>${formats.day(each.from)}</td><td>${dayState(each) === 'down' ? formats.duration(each.down) : '–'}</td><td>${each.maintenance > 0 ? formats.duration(each.maintenance) : '–'}</td></tr>`,
          )}</tbody></table>`
    }</section>`,
  });
};

/** `2026-11`, in UTC. */
export type Month = string;

export const monthOf = (at: number): Month => new Date(at).toISOString().slice(0, 7);

export const monthBegin = (month: Month): number => Date.parse(`${month}-01T00:00:00Z`);

export const monthBeside = (month: Month, by: 1 | -1): Month => monthOf(monthBegin(month) + (by === 1 ? 32 : -1) * 86_400_000);

/** The incidents of one month. */
export const historyPage = (view: View, style: string, month: Month, incidents: readonly PublicIncident[]): string => {
  const { page, words, formats } = view;
  const name = formats.month(monthBegin(month) + 14 * 86_400_000);
  const isNow = month === monthOf(page.now);
  return framed(view, style, {
    rest: `/history/${month}`,
    title: `${words.past}: ${name} – ${page.title}`,
    isPart: true,
    main: html`<p><a href="${safeUrl(pathOf(view))}">${words.back}</a></p><section class="card"><h1>${words.past}: ${name}</h1>${
      incidents.length === 0 ? html`<p class="soft">${words.noneThen}</p>` : incidents.map((each) => incidentBlock(each, view, 3))
    }<p class="line"><a href="${safeUrl(pathOf(view, `/history/${monthBeside(month, -1)}`))}">${words.earlier}</a>${
      !isNow && html`<a href="${safeUrl(pathOf(view, `/history/${monthBeside(month, 1)}`))}">${words.later}</a>`
    }</p></section>`,
  });
};

export const measuredPage = (view: View, style: string): string => {
  const { page, words } = view;
  return framed(view, style, {
    rest: '/measured',
    title: `${words.measured} – ${page.title}`,
    isPart: true,
    main: html`<p><a href="${safeUrl(pathOf(view))}">${words.back}</a></p><section class="card"><h1>${words.measured}</h1>${words.measuredText.map((text) => html`<p>${text}</p>`)}</section>`,
  });
};

// White space in it has no meaning.
const text = styleText()
  .replaceAll(/\s+/g, ' ')
  .replaceAll(/ ?([{};:,]) /g, '$1');

/** The name contains a digest of the content, so the file can be cached for ever. */
export const styleName = `style-${createHash('sha256').update(text).digest('base64url').slice(0, 10)}.css`;

let made: Body | undefined;
export const styleBody = (): Body => {
  made ??= bodyOf(text);
  return made;
};
