import type { PublicState } from '../../domain/public-page.ts';
import { type PageLanguage, pageLanguages } from '../../domain/status-page.ts';
import { type Html, html, safeUrl } from '../web/web-html.ts';
import { pathOf, type View } from './status-face-view.ts';
import { wordsOf } from './words/status-words-of-language.ts';

/** The states' shapes, once in a document: they differ by their outline alone. */
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

/** Any document of this face: no script, one style, nothing from elsewhere. */
export const documentOf = ({ language, title, style, head, body, kind = '' }: Document): string =>
  html`<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>${title}</title><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><link rel="stylesheet" href="${safeUrl(style)}"><link rel="icon" href="data:,">${head}</head><body class="${kind}">${shapes}${body}</body></html>`.toString();

/** The page's own colour, as a band: an attribute of a shape needs no style in the document. */
const band = (accent: string | null): Html | false =>
  accent !== null && html`<svg class="band" aria-hidden="true"><rect width="100%" height="100%" fill="${accent}"/></svg>`;

const languages = (view: View, rest: string): Html =>
  html`<p class="languages">${view.words.language}: ${pageLanguages.map((each, index) => {
    const address = pathOf({ ...view, language: each }, rest);
    const words = wordsOf[each].itself;
    return html`${index > 0 && ' · '}${each === view.language ? html`<b>${words}</b>` : html`<a href="${safeUrl(address)}" hreflang="${each}" lang="${each}" rel="nofollow">${words}</a>`}`;
  })}</p>`;

type Framed = {
  /** Behind the page's own path. */
  readonly rest?: string;
  readonly title: string;
  readonly main: Html;
  /** A part of the page, with a way back. */
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
