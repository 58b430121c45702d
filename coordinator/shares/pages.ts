import { html } from '../web/html.ts';
import { show } from '../web/page.ts';

/** Of every page that a link shows: its address is the secret. */
export const sharedHeaders = {
  'x-robots-tag': 'noindex',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
} as const;

/** Where a link shows nothing, or nothing any more. */
export const goneShare = show({
  title: 'Link not found',
  frame: 'bare',
  status: 404,
  headers: sharedHeaders,
  main: html`
    <div class="card entry">
      <h1>This link does not work</h1>
      <p>It was revoked, it expired, or a part of the address is missing.</p>
    </div>
  `,
});

export const sharedFoot = html`
  <p class="soft">Shared with Antipode, which checks from several continents.</p>
`;
