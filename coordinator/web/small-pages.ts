import { keptChoices, type Page, type PageAnswer, seeOther, send } from './page.ts';

const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><style>:root{color:#171b21}@media(prefers-color-scheme:dark){:root{color:#e8ebef}}</style>' +
  '<circle cx="12" cy="12" r="9.5" fill="none" stroke="currentColor" stroke-width="2.5"/><path d="M12 2.5a9.5 9.5 0 0 1 0 19Z" fill="currentColor"/></svg>';

const answer = (): PageAnswer =>
  send({
    type: 'image/svg+xml',
    body: drawing,
    headers: { 'cache-control': 'public, max-age=86400', 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" },
  });

export const favicon: Page = { method: 'GET', path: '/favicon.svg', needs: 'nobody', answer };
/** For programs that request it without reading a page. */
export const faviconOfOld: Page = { method: 'GET', path: '/favicon.ico', needs: 'nobody', answer };

/** For a phone that opens the app from its home screen (iOS). */
const manifest = {
  ...{ id: '/', name: 'Antipode', short_name: 'Antipode', start_url: '/', scope: '/', display: 'standalone' },
  icons: [{ src: '/favicon.svg', sizes: 'any', type: 'image/svg+xml' }],
};

export const manifestPage: Page = {
  method: 'GET',
  path: '/manifest.webmanifest',
  needs: 'nobody',
  answer: () =>
    send({ type: 'application/manifest+json', body: JSON.stringify(manifest), headers: { 'cache-control': 'public, max-age=86400' } }),
};

/** The reader's time zone and theme; then back to the page that they came from. */
export const choosePreferences: Page = {
  method: 'POST',
  path: '/preferences',
  needs: 'nobody',
  answer: ({ form, with: { baseUrl } }) => {
    const secure = baseUrl().startsWith('https:');
    const back = form.value('back') ?? '/';
    const chosen = { zone: form.value('zone'), theme: form.value('theme') };
    return seeOther(/^\/(?![/\\])/.test(back) ? back : '/', { headers: { 'set-cookie': keptChoices(chosen, secure) } });
  },
};
