import { apprise } from './kinds/channel-apprise.ts';
import { discord } from './kinds/channel-discord.ts';
import { email } from './kinds/channel-email.ts';
import { googleChat } from './kinds/channel-google-chat.ts';
import { gotify } from './kinds/channel-gotify.ts';
import { incidentIo } from './kinds/channel-incident-io.ts';
import type { ChannelKind } from './kinds/channel-kind.ts';
import { matrix } from './kinds/channel-matrix.ts';
import { mattermost } from './kinds/channel-mattermost.ts';
import { ntfy } from './kinds/channel-ntfy.ts';
import { pagerduty } from './kinds/channel-pagerduty.ts';
import { pushover } from './kinds/channel-pushover.ts';
import { slack } from './kinds/channel-slack.ts';
import { teams } from './kinds/channel-teams.ts';
import { telegram } from './kinds/channel-telegram.ts';
import { twilio } from './kinds/channel-twilio.ts';
import { webPush } from './kinds/channel-web-push.ts';
import { webhook } from './kinds/channel-webhook.ts';
import { zulip } from './kinds/channel-zulip.ts';

/** Every kind of channel there is, in the order in which a form offers them. */
export const channelKinds: readonly ChannelKind[] = [
  email,
  slack,
  teams,
  discord,
  googleChat,
  mattermost,
  telegram,
  matrix,
  zulip,
  webPush,
  ntfy,
  gotify,
  pushover,
  twilio,
  pagerduty,
  incidentIo,
  webhook,
  apprise,
];

export const kindOf = (id: string): ChannelKind | undefined => channelKinds.find((kind) => kind.id === id);
