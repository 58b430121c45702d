import { font } from '../../web/assets.ts';
import { type Html, html, safeUrl } from '../../web/html.ts';
import { type PageLanguage, pageLanguages } from '../model.ts';
import { type Formats, formatsOf } from './formats.ts';
import { around, localTimes } from './local-times.ts';
import {
  type DayState,
  dayState,
  monitorsOf,
  type PublicDay,
  type PublicPage,
  type PublicState,
  verdictOf,
} from './snapshot.ts';
import type { Words } from './words/types.ts';
import { wordsOf } from './words.ts';

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
  /** In its editor, which has a budget: without tooltips, and what is the same on every page. */
  readonly isPreview?: boolean | undefined;
};

export type ViewOptions = Pick<
  View,
  'root' | 'origin' | 'isStale' | 'hasMail' | 'aboutUs' | 'isPreview'
> & {
  readonly language?: PageLanguage | undefined;
};

export function viewOf(page: PublicPage, { language = page.language, ...seen }: ViewOptions): View {
  return {
    ...seen,
    page,
    language,
    words: wordsOf[language],
    formats: formatsOf(language, page.zone, page.now),
  };
}

/** A path of this page, in the chosen language. */
export function pathOf({ root, language, page }: View, rest = ''): string {
  const path = `${root}${rest}` || '/';
  return language === page.language ? path : `${path}?lang=${language}`;
}

type BarState = Exclude<DayState, 'none'>;

const barStates: readonly BarState[] = ['up', 'down', 'maintenance', 'unknown'];

type Run = { readonly state: BarState; readonly from: number; readonly count: number };

/** A younger page has room for as many. */
const leastDays = 30;

/** The bars of all services begin where the first of them has data. */
export function daysShown(page: PublicPage): number {
  return Math.max(leastDays, ...monitorsOf(page).map(({ days }) => daysMeasured(days)));
}

/** From the first with data until today. */
export function daysMeasured(days: readonly PublicDay[]): number {
  const known = days.map(barState).findIndex((state) => state !== 'unknown');
  return known === -1 ? 0 : days.length - known;
}

/** While it was paused, nothing was measured either. */
function barState(day: PublicDay): BarState {
  const state = dayState(day);
  return state === 'none' ? 'unknown' : state;
}

export function bars(all: readonly PublicDay[], view: View): Html {
  const { words, formats } = view;
  const days = all.slice(-daysShown(view.page));
  const states = days.map(barState);
  const measured = daysMeasured(days);
  /** `3 Oct – 20 Oct: up`, `21 Oct: outage, 12 minutes`. */
  const said = ({ state, from, count }: Run): string => {
    const of = days.slice(from, from + count);
    const [first, last] = [of[0], of.at(-1)].map((day) => formats.shortDay(day?.from ?? 0));
    return `${first === last ? first : `${first} – ${last}`}: ${words.legend[state]}${
      state === 'down' ? `, ${formats.duration(of[0]?.down ?? 0)}` : ''
    }`;
  };
  return html`
    <svg
      class="bars"
      viewBox="0 0 ${days.length - 1 + wide} 24"
      preserveAspectRatio="none"
      role="img"
      aria-label="${summary(states.slice(states.length - measured), view)}"
    >
      ${runsOf(states).map((run) => {
        const title = !view.isPreview && html`<title>${said(run)}</title>`;
        return html`<path class="f-${run.state}" d="${shapeOf(run)}">${title}</path>`;
      })}
    </svg>
  `;
}

/** The last of a list of bars, which begin and end together. */
export function daysAxis(view: View): Html | false {
  const first = monitorsOf(view.page)[0]?.days.at(-daysShown(view.page))?.from;
  return (
    first !== undefined &&
    !view.isPreview &&
    html`
      <li class="days" aria-hidden="true">
        ${view.formats.shortDay(first)}<span>${view.words.today}</span>
      </li>
    `
  );
}

/** What the bars show, for screen readers. */
function summary(states: readonly BarState[], { words }: View): string {
  const counted = (['down', 'maintenance', 'unknown', 'up'] as const)
    .map((state) => [state, states.filter((each) => each === state).length] as const)
    .filter(([, count]) => count > 0);
  if (counted.length === 0) return words.legend.unknown;
  return `${words.barsOf(states.length)}: ${counted.map(([state, count]) => words.dayCounts[state](count)).join(', ')}`;
}

/**
 * Adjacent days of one state, as ninety bars for fifty services would fill a page; of downtime each
 * by itself.
 */
function runsOf(states: readonly BarState[]): readonly Run[] {
  const runs: Run[] = [];
  for (const [at, state] of states.entries()) {
    const last = runs.at(-1);
    if (last?.state === state && state !== 'down')
      runs[runs.length - 1] = { ...last, count: last.count + 1 };
    else runs.push({ state, from: at, count: 1 });
  }
  return runs;
}

/** How wide a bar is of its day. */
const wide = 0.75;

/** One line, which the style cuts into bars and makes as tall as its state is. */
function shapeOf({ from, count }: Omit<Run, 'state'>): string {
  return `M${from} 12h${count - 1 + wide}`;
}

/** What the bars mean, once for all of them. */
export function legend({ words }: View): Html {
  return html`
    <p class="legend">
      <span>${words.eachBar}</span>
      ${barStates.map(
        (state) =>
          html`
            ${' '}
            <span class="key">
              <svg class="key-bar" viewBox="0 0 ${wide} 24" preserveAspectRatio="none" aria-hidden="true">
                <path class="f-${state}" d="${shapeOf({ from: 0, count: 1 })}"/>
              </svg>
              ${words.legend[state]}
            </span>
          `,
      )}
    </p>
  `;
}

/** A major outage looks as one that was measured. */
const shapeNames: Partial<Record<PublicState, string>> = {
  partial_outage: 'degraded',
  major_outage: 'down',
};

export function stateShape(state: PublicState): Html {
  return html`<svg class="icon" aria-hidden="true"><use href="#${shapeNames[state] ?? state}"/></svg>`;
}

export function stateMark(state: PublicState, words: string): Html {
  return html`<span class="state s-${state}">${stateShape(state)}${words}</span>`;
}

type Document = {
  readonly language: PageLanguage;
  readonly title: string;
  readonly style: string;
  readonly head?: Html | undefined;
  readonly body: Html;
  readonly kind?: string;
  /** The page around it has loaded the font. */
  readonly isPreview?: boolean | undefined;
};

/** Any public document: one style, nothing from elsewhere. */
export function documentOf({
  language,
  title,
  style,
  head,
  body,
  kind = '',
  isPreview,
}: Document): string {
  return html`
    <!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8">
        <title>${title}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        ${!isPreview && html`<link rel="preload" href="${safeUrl(font)}" as="font" type="font/woff2" crossorigin>`}
        <link rel="stylesheet" href="${safeUrl(style)}">
        <link rel="icon" href="data:,">
        ${head}
      </head>
      <body class="${kind}">${shapesIn(body.toString())}${body}</body>
    </html>
  `.toString();
}

/** The shapes of states: they differ by their outline alone. */
const shapes = {
  up: html`<circle cx="12" cy="12" r="9.25"/><path d="m8 12.4 2.8 2.8L16 9.6"/>`,
  down: html`<path d="M8.2 2.75h7.6l5.45 5.45v7.6l-5.45 5.45H8.2L2.75 15.8V8.2Z"/><path d="m9 9 6 6M15 9l-6 6"/>`,
  degraded: html`<path d="M12 3.2 21.8 20.5H2.2Z"/><path d="M12 9.8v4.4M12 17.4v.1"/>`,
  maintenance: html`<path d="M20.4 6.9a5.6 5.6 0 0 1-7.5 6.9l-6.2 6.2a2.1 2.1 0 0 1-3-3l6.3-6.2a5.6 5.6 0 0 1 6.9-7.4l-3.2 3.2v3.4h3.4Z"/>`,
  paused: html`<circle cx="12" cy="12" r="9.25"/><path d="M9.8 8.8v6.4M14.2 8.8v6.4"/>`,
  pending: html`<circle cx="12" cy="12" r="9.25" stroke-dasharray="3.3 3.963"/>`,
};

/** Once per document, and only those that it draws. */
function shapesIn(body: string): Html {
  return html`
  <svg class="shapes" aria-hidden="true">
    ${Object.entries(shapes).map(
      ([name, shape]) =>
        body.includes(`href="#${name}"`) &&
        html`<symbol id="${name}" viewBox="0 0 24 24">${shape}</symbol>`,
    )}
  </svg>
`;
}

type Framed = {
  /** Appended to the page's own path. */
  readonly rest?: string;
  readonly title: string;
  readonly main: Html;
  /** A part of the page, with a link back. */
  readonly isPart?: boolean;
};

export function framed(
  view: View,
  style: string,
  { rest = '', title, main, isPart = false }: Framed,
): string {
  const { page, words, formats, root, language, origin } = view;
  const name = page.hasLogo
    ? html`<img class="logo" src="${safeUrl(`${root}/logo`)}" alt="${page.title}">`
    : page.title;
  const heading = isPart
    ? html`<p class="title"><a href="${safeUrl(pathOf(view))}">${name}</a></p>`
    : html`<h1 class="title">${name}</h1>`;
  return documentOf({
    language,
    title,
    style,
    isPreview: view.isPreview,
    head: view.isPreview
      ? html`<base target="_blank">`
      : html`
      <link rel="canonical" href="${safeUrl(`${origin}${rest}`)}">
      <link
        rel="alternate"
        type="application/atom+xml"
        title="${page.title}"
        href="${safeUrl(`${root}/feed.atom`)}"
      >
      <link
        rel="alternate"
        type="application/feed+json"
        title="${page.title}"
        href="${safeUrl(`${root}/feed.json`)}"
      >
      ${localTimes(root, page.zone)}
    `,
    body: html`
      ${band(page)}
      <header>${heading}<a class="button" href="#updates">${words.updates}</a></header>
      <main>
        ${
          view.isStale &&
          html`<p class="stale" role="status">${around(formats.wholeTime(page.now), words.stale)}</p>`
        }
        ${main}
      </main>
      ${!view.isPreview && footer(view, rest)}
    `,
  });
}

/**
 * A band in the colour of what is wrong, otherwise in the page's own: an SVG attribute needs no
 * inline style.
 */
function band(page: PublicPage): Html | false {
  const { is } = verdictOf(page);
  const isWell = is === 'up' || is === 'pending' || is === 'empty';
  const fill = isWell ? page.accent : 'currentColor';
  return (
    fill !== null &&
    html`
    <svg class="band v-${is}" aria-hidden="true"><rect width="100%" height="100%" fill="${fill}"/></svg>
  `
  );
}

function footer(view: View, rest: string): Html {
  const { page, words, formats } = view;
  return html`
      <footer>
        ${updates(view)}
        ${languages(view, rest)}
        <p>
          <span data-zone-name>${words.timesIn(page.zone)}</span> · ${around(
            formats.wholeTime(page.now),
            words.asOf,
          )}<br>
          <a href="${safeUrl(pathOf(view, '/measured'))}">${words.measured}</a>
          ${
            view.aboutUs !== undefined &&
            html` · <a href="${safeUrl(view.aboutUs)}">${words.aboutUs}</a>`
          }
        </p>
      </footer>
  `;
}

function languages(view: View, rest: string): Html {
  return html`
    <p class="languages">
      ${view.words.language}: ${pageLanguages.map((each, index) => {
        const address = pathOf({ ...view, language: each }, rest);
        const words = wordsOf[each].itself;
        return html`
          ${index > 0 && ' · '}
          ${
            each === view.language
              ? html`<b>${words}</b>`
              : html`
                <a href="${safeUrl(address)}" hreflang="${each}" lang="${each}" rel="nofollow">
                  ${words}
                </a>
              `
          }
        `;
      })}
    </p>
  `;
}

function updates(view: View): Html {
  const { words, root, language } = view;
  return html`
    <section id="updates">
      <h2>${words.updates}</h2>
      ${
        view.hasMail &&
        html`
          <form method="post" action="${safeUrl(`${root}/subscribe`)}">
            <label for="email">${words.mailLabel}</label>
            <div class="field">
              <input
                id="email"
                name="email"
                type="email"
                autocomplete="email"
                required
                maxlength="254"
              >
              <input type="hidden" name="lang" value="${language}">
              <button class="primary">${words.mailSubmit}</button>
            </div>
            <p class="soft">${words.mailNote}</p>
          </form>
        `
      }
      <details>
        <summary>${words.webhookLabel}</summary>
        <form method="post" action="${safeUrl(`${root}/subscribe`)}">
          <label for="url">${words.webhookUrl}</label>
          <div class="field">
            <input
              id="url"
              name="url"
              type="url"
              pattern="https://.*"
              placeholder="https://"
              required
              maxlength="2000"
            >
            <input type="hidden" name="lang" value="${language}">
            <button>${words.mailSubmit}</button>
          </div>
          <p class="soft">${words.webhookNote}</p>
        </form>
      </details>
      <p>
        ${words.feeds}: <a href="${safeUrl(`${root}/feed.atom`)}">Atom</a> · <a
          href="${safeUrl(`${root}/feed.json`)}"
        >
          JSON Feed
        </a> · <a href="${safeUrl(`${root}/maintenance.ics`)}">${words.calendar}</a>
      </p>
    </section>
  `;
}
