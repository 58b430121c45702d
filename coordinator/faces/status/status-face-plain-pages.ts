import type { PublicPage } from '../../domain/public-page.ts';
import type { PageLanguage } from '../../domain/status-page.ts';
import { type Html, html, safeUrl } from '../web/web-html.ts';
import { documentOf } from './status-face-frame.ts';
import { wordsOf } from './words/status-words-of-language.ts';

/** Documents that show no page: there is none, it cannot be read, or it is not for everybody. */

const said = (language: PageLanguage, style: string, title: string, more: Html | string): string =>
  documentOf({ language, title, style, body: html`<main class="said"><h1>${title}</h1>${more}</main>` });

/** The same for what never was and for what is not shown. */
export const gonePage = (style: string): string => said('en', style, wordsOf.en.gone, html`<p>${wordsOf.en.goneText}</p>`);

export const awayPage = (style: string): string => said('en', style, wordsOf.en.away, html`<p>${wordsOf.en.awayText}</p>`);

export type LockedWhy = 'asked' | 'wrong' | 'too-many';

/** Says nothing of the page but that it is there. */
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

/** What came of something. */
export const tellingPage = (of: Subscribed, title: string, text?: string): string =>
  said(of.language, of.style, title, html`${text !== undefined && html`<p>${text}</p>`}${backTo(of)}`);

/** A link in a mail leads here and does nothing by itself: programs that look ahead follow links, people press buttons. */
export const askingPage = (of: Subscribed, path: string, title: string, button: string): string =>
  said(of.language, of.style, title, html`<form method="post" action="${safeUrl(path)}"><button>${button}</button></form>${backTo(of)}`);
