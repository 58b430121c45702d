import type { getChannel as operation } from '../../../shared/api/channels.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { channelById } from '../../store/store-channels.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { channelShown } from './operation-channel-shared.ts';

export const getChannel = async (
  context: InOrganisation,
  { channel_id: id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> =>
  channelShown(context, found(await channelById(context.sql, context.organisation.id, id, context.now), 'channel_not_found'));
