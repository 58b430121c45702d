import { heading } from './elements.ts';
import { notFoundAnswer } from './failures.ts';
import { type Html, html } from './html.ts';
import { entries } from './layout.ts';
import {
  forAnyone,
  forMembers,
  keptChoices,
  type Page,
  type PageAnswer,
  seeOther,
  send,
  show,
} from './page.ts';

export const favicon = forAnyone.get('/favicon.svg', drawFavicon);
/** For programs that request it without reading a page. */
export const faviconOfOld: Page = { ...favicon, path: '/favicon.ico' };

const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><style>:root{color:#171b21}@media(prefers-color-scheme:dark){:root{color:#e8ebef}}</style>' +
  '<circle cx="12" cy="12" r="9.5" fill="none" stroke="currentColor" stroke-width="2.5"/><path d="M12 2.5a9.5 9.5 0 0 1 0 19Z" fill="currentColor"/></svg>';

function drawFavicon(): PageAnswer {
  return send({
    type: 'image/svg+xml',
    body: drawing,
    headers: {
      'cache-control': 'public, max-age=86400',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    },
  });
}

/** For a phone that opens the app from its home screen (iOS). */
const manifest = {
  id: '/',
  name: 'Antipode',
  short_name: 'Antipode',
  start_url: '/',
  scope: '/',
  display: 'standalone',
  icons: [{ src: '/favicon.svg', sizes: 'any', type: 'image/svg+xml' }],
};

export const manifestPage = forAnyone.get('/manifest.webmanifest', () =>
  send({
    type: 'application/manifest+json',
    body: JSON.stringify(manifest),
    headers: { 'cache-control': 'public, max-age=86400' },
  }),
);

const yearMs = 365 * 86_400_000;

/** RFC 9116; without a contact there is no such file. */
export const securityText = forAnyone.get(
  '/.well-known/security.txt',
  ({ now, with: { securityContact, baseUrl } }) =>
    securityContact === undefined
      ? notFoundAnswer
      : send({
          type: 'text/plain; charset=utf-8',
          body: `Contact: ${securityContact}\nExpires: ${new Date(now + yearMs).toISOString()}\nCanonical: ${baseUrl()}/.well-known/security.txt\n`,
        }),
);

/** The reader's time zone and theme; then back to the page that they came from. */
export const choosePreferences = forAnyone.post('/preferences', ({ form, with: { baseUrl } }) => {
  const secure = baseUrl().startsWith('https:');
  const back = form.value('back') ?? '/';
  const chosen = { zone: form.value('zone'), theme: form.value('theme') };
  return seeOther(/^\/(?![/\\])/.test(back) ? back : '/', {
    headers: { 'set-cookie': keptChoices(chosen, secure) },
  });
});

export const shortcuts = forMembers.get('/shortcuts', () =>
  show({
    title: 'Keyboard shortcuts',
    main: html`
        ${heading({ sentence: 'Keyboard shortcuts' })}
        <div class="card">
          <dl class="facts">
            ${shortcut(['/'], 'Search')}
            ${entries.flatMap(({ key, name }) =>
              key === undefined ? [] : [shortcut(['g', key], `Go to ${name}`)],
            )}
            ${shortcut(['n'], 'New')}
            ${shortcut(['j', 'k'], 'Next and previous row')}
            ${shortcut(['x'], 'Select the row')}
            ${shortcut(['e'], 'Acknowledge the incident')}
            ${shortcut(['?'], 'Show this page')}
          </dl>
        </div>
      `,
  }),
);

function shortcut(keys: readonly string[], what: string): Html {
  return html`
    <dt>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dt>
    <dd>${what}</dd>
  `;
}
