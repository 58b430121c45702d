import type { testChannel as operation, tryChannel as trial } from '../../../shared/api/inner/channels.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/ids.ts';
import { Refusal } from '../../../shared/base/refusal.ts';
import { channelById, countChannelTest } from '../../store/channels.ts';
import type { Answer, Early, InOrganisation, Place } from '../context.ts';
import { found } from '../not-found.ts';
import { channelConfigFrom, openChannel, refuseUnlessTheirs } from './channel-parts.ts';

/** What is tested goes to addresses of others: nobody is flooded. */
const mostAnHour = 10;

const count = async ({ pool, organisation, now }: Early<Place>): Promise<void> => {
  if ((await countChannelTest(pool, organisation.id, new Date(now))) > mostAnHour)
    throw new Refusal('channel_test_limit', `An organisation may test ${mostAnHour} times an hour; wait a while.`);
};

type Tried = OutputOf<typeof operation>;

/** Sent before the transaction, because it may take ten seconds. */
export const testChannel = {
  before: async (early: Early<Place>, { channel_id: id }: InputOf<typeof operation>): Promise<Tried> => {
    const { pool, organisation, now, with: instruments } = early;
    const row = found(await channelById(pool, organisation.id, id, now), 'channel_not_found');
    refuseUnlessTheirs(early, row.user_id);
    await count(early);
    const config = await openChannel(instruments.secrets, pool, row);
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
    await count(early);
    return instruments.channels.test(kind, config, { key: newId(), name: row?.name ?? null, channel, organisation: organisation.name });
  },
  act: async (_context: InOrganisation, _input: InputOf<typeof trial>, tried: Tried): Answer<Tried> => tried,
};
