import type { listChannelKinds as operation } from '../../../shared/api/inner/inner-channels.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

export const listChannelKinds = async ({ with: { channels, door } }: InOrganisation): Answer<OutputOf<typeof operation>> => ({
  items: channels.kinds,
  push_key: await channels.pushKey(),
  mail: door.mail,
});
