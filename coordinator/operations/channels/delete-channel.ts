import type { deleteChannel as operation } from '../../../shared/api/channels.ts';
import type { InputOf } from '../../../shared/api/operation.ts';
import { channelById, deleteChannel as remove } from '../../store/store-channels.ts';
import type { InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { refuseUnlessTheirs } from './operation-channel-shared.ts';

export const deleteChannel = async (context: InOrganisation, { channel_id: id }: InputOf<typeof operation>): Promise<void> => {
  const { sql, organisation, now, note } = context;
  const channel = found(await channelById(sql, organisation.id, id, now), 'channel_not_found');
  refuseUnlessTheirs(context, channel.user_id);
  await remove(sql, organisation.id, id, new Date(now));
  note({ before: { kind: channel.kind, name: channel.name } });
};
