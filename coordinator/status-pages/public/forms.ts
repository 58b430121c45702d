import { type Html, html, safeUrl } from '../../web/html.ts';
import type { PageLanguage } from '../model.ts';
import type { WaitingPage } from '../subscribers.ts';
import { said } from './render.ts';
import type { PublicPage } from './snapshot.ts';
import { wordsOf } from './words.ts';

/** The same for a page that never existed and for one that is not shown. */
export function gonePage(style: string): string {
  return said('en', style, wordsOf.en.gone, html`<p>${wordsOf.en.goneText}</p>`);
}

export function awayPage(style: string): string {
  return said('en', style, wordsOf.en.away, html`<p>${wordsOf.en.awayText}</p>`);
}

export type LockedWhy = 'asked' | 'wrong' | 'too-many';

/** Reveals nothing about the page but that it exists. */
export function lockedPage(
  { language }: Pick<PublicPage, 'language'>,
  style: string,
  root: string,
  byPassword: boolean,
  why: LockedWhy,
): string {
  const words = wordsOf[language];
  const fault = why === 'wrong' ? words.wrong : why === 'too-many' ? words.tooMany : undefined;
  return said(
    language,
    style,
    words.locked,
    byPassword
      ? html`
        <form method="post" action="${safeUrl(`${root}/enter`)}">
          ${fault !== undefined && html`<p class="stale" role="alert">${fault}</p>`}
          <label for="password">${words.password}</label>
          <div class="field">
            <input
              id="password"
              name="password"
              type="password"
              autocomplete="current-password"
              required
              maxlength="200"
            >
            <button class="primary">${words.enter}</button>
          </div>
        </form>
      `
      : html`<p>${words.lockedByLink}</p>`,
  );
}

type Subscribed = {
  readonly language: PageLanguage;
  readonly style: string;
  readonly root: string;
};

/** The result of an action. */
export function subscribePage(of: Subscribed, title: string, text?: string): string {
  return said(
    of.language,
    of.style,
    title,
    html`${text !== undefined && html`<p>${text}</p>`}${backTo(of)}`,
  );
}

function backTo({ language, root }: Subscribed): Html {
  return html`<p><a href="${safeUrl(root || '/')}">${wordsOf[language].back}</a></p>`;
}

/** The secret and the link that ends it; neither is shown again. */
export function webhookPage(
  of: Subscribed,
  { secret, leave }: { readonly secret: string; readonly leave: string },
): string {
  const words = wordsOf[of.language].subscribing;
  return said(
    of.language,
    of.style,
    words.confirmed,
    html`
      <p>${words.webhook.secret}</p>
      <p><code>${secret}</code></p>
      <p>${words.webhook.leave} <a href="${safeUrl(leave)}">${leave}</a></p>
      ${backTo(of)}
    `,
  );
}

/**
 * The target of a link in a mail. It does nothing by itself: prefetching programs follow links,
 * people press buttons.
 */
export function askingPage(
  of: Subscribed,
  path: string,
  title: string,
  button: string,
  pages: readonly WaitingPage[] = [],
): string {
  const list = html`
    <ul>
      ${pages.map(
        ({ slug, title: name }) =>
          html`<li>${name}<input type="hidden" name="page" value="${slug}"></li>`,
      )}
    </ul>
  `;
  return said(
    of.language,
    of.style,
    title,
    html`
      <form method="post" action="${safeUrl(path)}">
        ${pages.length > 1 && list}
        <button>${button}</button>
      </form>
      ${backTo(of)}
    `,
  );
}
