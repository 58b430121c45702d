import { answer } from './answers.ts';
import { keptChoices, type Page, seeOther, send } from './page.ts';

export const favicon: Page = { method: 'GET', path: '/favicon.svg', needs: 'nobody', answer };
/** For programs that request it without reading a page. */
export const faviconOfOld: Page = { method: 'GET', path: '/favicon.ico', needs: 'nobody', answer };

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

export const manifestPage: Page = {
  method: 'GET',
  path: '/manifest.webmanifest',
  needs: 'nobody',
  answer: () =>
    send({
      type: 'application/manifest+json',
      body: JSON.stringify(manifest),
      headers: { 'cache-control': 'public, max-age=86400' },
    }),
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
    return seeOther(/^\/(?![/\\])/.test(back) ? back : '/', {
      headers: { 'set-cookie': keptChoices(chosen, secure) },
    });
  },
};
