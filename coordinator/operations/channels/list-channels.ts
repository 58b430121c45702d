import type { listChannels as operation } from '../../../shared/api/channels.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { channelPage } from '../../store/store-channels.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { beforeAll, pageOf } from '../operation-cursors.ts';
import { channelShown } from './operation-channel-shared.ts';

export const listChannels = async (context: InOrganisation, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation, now, with: instruments } = context;
  const rows = await pageOf(
    instruments.cursors,
    ['channels', organisation.id],
    input,
    (from, most) => channelPage(sql, organisation.id, from ?? beforeAll, most, now),
    (row) => row,
  );
  // Keys of secrets are remembered, so that this asks the database nothing.
  return { items: await Promise.all(rows.items.map((row) => channelShown(context, row))), next_cursor: rows.next_cursor };
};
