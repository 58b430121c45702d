import type { Page } from '../../web-page.ts';
import { browserPages } from './page-alert-browser.ts';
import { channelPages } from './page-alert-channel.ts';
import { channelFormPages } from './page-alert-edit.ts';
import { alertLinkPages } from './page-alert-links.ts';
import { channelsPage } from './page-alert-list.ts';
import { mute, unmute } from './page-alert-mute.ts';

/** Who is told, how, and what came of it. */
export const alertPages: readonly Page[] = [
  channelsPage,
  mute,
  unmute,
  ...channelFormPages,
  ...browserPages,
  ...channelPages,
  ...alertLinkPages,
];
