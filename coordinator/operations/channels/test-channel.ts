import type { testChannel as operation, tryChannel as trial } from '../../../shared/api/inner/inner-channels.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { channelById, isSuppressed, ownMailbox } from '../../store/store-channels.ts';
import type { Answer, Early, InOrganisation, Place } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import type { ChannelConfig } from './operation-channel-needs.ts';
import { channelConfigFrom, countTry, isKnownMailbox, openChannel, refuseUnlessTheirs } from './operation-channel-shared.ts';

/** A mailbox is told of nothing before somebody said from it that it is theirs (rule 30): not of a test either. @throws Refusal. */
const refuseUnasked = async (early: Early<Place>, kind: string, config: ChannelConfig, verified: boolean): Promise<void> => {
  if (kind !== 'email' || verified) return;
  const { pool, caller, organisation } = early;
  const own = caller.user === null ? undefined : await ownMailbox(pool, caller.user);
  if (isKnownMailbox(early, kind, config, own) && !(await isSuppressed(pool, organisation.id, config.address ?? ''))) return;
  throw new Refusal('channel_invalid', 'config.address has not said yet that it wants alerts: save the channel, and a mail asks it.');
};

type Tried = OutputOf<typeof operation>;

/** Sent before the transaction, because it may take ten seconds. */
export const testChannel = {
  before: async (early: Early<Place>, { channel_id: id }: InputOf<typeof operation>): Promise<Tried> => {
    const { pool, organisation, now, with: instruments } = early;
    const row = found(await channelById(pool, organisation.id, id, now), 'channel_not_found');
    refuseUnlessTheirs(early, row.user_id);
    const config = await openChannel(instruments.secrets, pool, row);
    await refuseUnasked(early, row.kind, config, row.verified_at !== null && row.unsubscribed_at === null);
    await countTry(pool, organisation.id, now);
    return instruments.channels.test(row.kind, config, { key: newId(), name: row.name, channel: id, organisation: organisation.name });
  },
  act: async (_context: InOrganisation, _input: InputOf<typeof operation>, tried: Tried): Answer<Tried> => tried,
};

export const tryChannel = {
  before: async (early: Early<Place>, { kind, config: sent, channel }: InputOf<typeof trial>): Promise<Tried> => {
    const { pool, organisation, now, with: instruments } = early;
    const row = channel === null ? undefined : found(await channelById(pool, organisation.id, channel, now), 'channel_not_found');
    if (row !== undefined) refuseUnlessTheirs(early, row.user_id);
    const stored = row === undefined || row.kind !== kind ? {} : await openChannel(instruments.secrets, pool, row);
    // What is made when it is saved is not there yet: the test is signed with something of its own.
    const made = instruments.channels.kinds
      .find(({ id }) => id === kind)
      ?.fields.filter(({ name, input }) => input === 'generated' && !Object.hasOwn(sent, name) && stored[name] === undefined)
      .map(({ name }) => [name, `whsec_${Buffer.alloc(32).toString('base64')}`]);
    const config = channelConfigFrom(instruments.channels, kind, { ...Object.fromEntries(made ?? []), ...sent }, stored);
    const isSame = kind === row?.kind && config.address === stored.address;
    await refuseUnasked(early, kind, config, isSame && row?.verified_at != null && row.unsubscribed_at === null);
    await countTry(pool, organisation.id, now);
    return instruments.channels.test(kind, config, { key: newId(), name: row?.name ?? null, channel, organisation: organisation.name });
  },
  act: async (_context: InOrganisation, _input: InputOf<typeof trial>, tried: Tried): Answer<Tried> => tried,
};
