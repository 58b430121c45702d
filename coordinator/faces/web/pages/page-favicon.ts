import { type Page, type PageAnswer, send } from '../web-page.ts';

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
/** Asked for by programs that look at no page. */
export const faviconOfOld: Page = { method: 'GET', path: '/favicon.ico', needs: 'nobody', answer };
