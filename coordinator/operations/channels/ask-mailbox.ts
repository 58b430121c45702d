import type { askMailbox as operation } from '../../../shared/api/inner/inner-channels.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { channelById } from '../../store/store-channels.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { askByMail, refuseUnlessTheirs } from './operation-channel-shared.ts';

/** Once more, for whom the first mail never reached, or who was too late. */
export const askMailbox = async (
  context: InOrganisation,
  { channel_id: id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation, now } = context;
  const channel = found(await channelById(sql, organisation.id, id, now), 'channel_not_found');
  refuseUnlessTheirs(context, channel.user_id);
  if (channel.verified_at !== null) throw new Refusal('channel_invalid', 'Nobody has to be asked: this channel is told already.');
  const address = channel.config.address ?? '';
  await askByMail(context, id, address);
  return { address };
};
