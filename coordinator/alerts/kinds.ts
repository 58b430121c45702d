import { apprise } from './kinds/apprise.ts';
import { discord } from './kinds/discord.ts';
import { email } from './kinds/email.ts';
import { googleChat } from './kinds/google-chat.ts';
import { gotify } from './kinds/gotify.ts';
import { incidentIo } from './kinds/incident-io.ts';
import type { ChannelKind } from './kinds/kind.ts';
import { matrix } from './kinds/matrix.ts';
import { mattermost } from './kinds/mattermost.ts';
import { ntfy } from './kinds/ntfy.ts';
import { pagerduty } from './kinds/pagerduty.ts';
import { pushover } from './kinds/pushover.ts';
import { slack } from './kinds/slack.ts';
import { teams } from './kinds/teams.ts';
import { telegram } from './kinds/telegram.ts';
import { twilio } from './kinds/twilio.ts';
import { webPush } from './kinds/web-push.ts';
import { webhook } from './kinds/webhook.ts';
import { zulip } from './kinds/zulip.ts';

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
