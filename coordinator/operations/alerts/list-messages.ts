import type { listMessages as operation } from '../../../shared/api/inner/inner-alerts.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { channelById } from '../../store/store-channels.ts';
import { lastMessages } from '../../store/store-messages-read.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { messageOut } from './operation-message-out.ts';

const most = 100;

export const listMessages = async (
  { sql, organisation, now }: InOrganisation,
  { channel }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  if (channel !== null) found(await channelById(sql, organisation.id, channel, now), 'channel_not_found');
  return { items: (await lastMessages(sql, organisation.id, channel, most)).map(messageOut) };
};
