import type { Page } from '../../page.ts';
import { browserPages } from './browser.ts';
import { channelPages } from './channel.ts';
import { channelFormPages } from './edit.ts';
import { alertLinkPages } from './links.ts';
import { channelsPage } from './list.ts';
import { mute, unmute } from './mute.ts';

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
