/** What a browser has that was let in to a private page. The one cookie of a page, for its own path. */
export const entryName = 'page_entry';

const seconds = 30 * 86_400;

export const entryCookie = (value: string, { path, secure }: { readonly path: string; readonly secure: boolean }): string =>
  `${entryName}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;

/** Of an answer that leads elsewhere, and that nobody may keep: a secret stood in the address. */
export const cleared = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
  'x-content-type-options': 'nosniff',
} as const;
