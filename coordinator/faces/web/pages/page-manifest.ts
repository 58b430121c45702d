import { type Page, send } from '../web-page.ts';

/** What a phone needs that tells only what stands on its home screen (iOS). */
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
