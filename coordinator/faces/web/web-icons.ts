import { drawing } from './web-assets.ts';
import { type Html, html, safeUrl } from './web-html.ts';

/** The symbols of assets/icons.svg; a test holds both lists to be the same. */
export const iconNames = [
  ...['up', 'verifying', 'down', 'maintenance', 'unknown', 'paused', 'pending', 'none'],
  ...['monitors', 'incidents', 'status-pages', 'alerts', 'probes', 'groups', 'members', 'tokens', 'organisation', 'audit', 'profile'],
  ...['search', 'add', 'close', 'check', 'next', 'previous', 'open', 'upwards', 'downwards', 'switch', 'leave', 'copy', 'share', 'see'],
  ...['edit', 'delete', 'play', 'pause', 'again', 'send', 'clock', 'globe', 'away', 'mail', 'lock', 'device', 'note', 'more'],
  ...['information', 'calendar'],
] as const;

export type IconName = (typeof iconNames)[number];

const address = drawing('icons.svg');

/** A symbol beside words that say the same; it says nothing to who does not see it. */
export const icon = (name: IconName): Html =>
  html`<svg class="icon" aria-hidden="true"><use href="${safeUrl(`${address}#${name}`)}"></use></svg>`;
