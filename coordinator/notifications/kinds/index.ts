import { apprise } from './apprise.ts';
import { discord } from './discord.ts';
import { email } from './email.ts';
import { googleChat } from './google-chat.ts';
import { gotify } from './gotify.ts';
import { incidentIo } from './incident-io.ts';
import { matrix } from './matrix.ts';
import { mattermost } from './mattermost.ts';
import { ntfy } from './ntfy.ts';
import { pagerduty } from './pagerduty.ts';
import { pushover } from './pushover.ts';
import { slack } from './slack.ts';
import { teams } from './teams.ts';
import { telegram } from './telegram.ts';
import { twilio } from './twilio.ts';
import type { ChannelKind } from './types.ts';
import { webPush } from './web-push.ts';
import { webhook } from './webhook.ts';
import { zulip } from './zulip.ts';

/** All kinds of channel, the most popular first, as a form offers them. */
export const channelKinds: readonly ChannelKind[] = [
  email,
  slack,
  teams,
  webhook,
  pagerduty,
  webPush,
  discord,
  telegram,
  twilio,
  googleChat,
  mattermost,
  matrix,
  zulip,
  ntfy,
  gotify,
  pushover,
  incidentIo,
  apprise,
];

export function kindOf(id: string): ChannelKind | undefined {
  return channelKinds.find((kind) => kind.id === id);
}

/** What pages people gets no warnings (rule 44) unless chosen. */
export function wantsWarnings(id: string): boolean {
  return !['pager', 'phone', 'browser'].includes(kindOf(id)?.family ?? '');
}
