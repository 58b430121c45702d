import * as api from '../../shared/api/channels.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { handle } from '../gate/bind.ts';
import type { Early, OrganisationScope } from '../gate/context.ts';
import {
  channelConfigFrom,
  isKnownMailbox,
  openChannel,
  refuseUnlessTheirs,
} from './channel-operations.ts';
import * as contract from './contract.ts';
import type { ChannelConfig } from './kinds/types.ts';
import { channelById, countTry, isSuppressed, ownMailbox } from './queries.ts';

/** Sends before the transaction, because it may take ten seconds. */
export const testChannel = handle(api.testChannel)({
  before: async (early, { channel_id: id }) => {
    const { pool, organisation, now, with: instruments } = early;
    const row = await channelById(pool, organisation.id, id, now);
    refuseUnlessTheirs(early, row.user_id);
    const config = await openChannel(instruments.secrets, pool, row);
    await refuseUnasked(
      early,
      row.kind,
      config,
      row.verified_at !== null && row.unsubscribed_at === null,
    );
    await countTry(pool, organisation.id, now);
    return instruments.channels.test(row.kind, config, {
      key: newId(),
      name: row.name,
      channel: id,
      organisation: organisation.name,
    });
  },
  act: async ({ note }, _input, tried) => {
    note({ after: { verdict: tried.verdict } });
    return tried;
  },
});

/**
 * A mailbox gets nothing, not even a test, before someone has confirmed from it that it is theirs
 * (rule 30). @throws Refusal.
 */
async function refuseUnasked(
  early: Early<OrganisationScope>,
  kind: string,
  config: ChannelConfig,
  verified: boolean,
): Promise<void> {
  if (kind !== 'email' || verified) return;
  const { pool, caller, organisation } = early;
  const own = caller.user === null ? undefined : await ownMailbox(pool, caller.user);
  if (
    isKnownMailbox(early, kind, config, own) &&
    !(await isSuppressed(pool, organisation.id, config.address ?? ''))
  )
    return;
  throw new Refusal(
    'channel_invalid',
    { 'config.address': 'is not confirmed yet. Save the channel to send a confirmation mail.' },
    {
      message: 'config.address is not confirmed yet. Save the channel to send a confirmation mail.',
    },
  );
}

export const tryChannel = handle(contract.tryChannel)({
  before: async (early, { kind, config: sent, channel }) => {
    const { pool, organisation, now, with: instruments } = early;
    const row =
      channel === null ? undefined : await channelById(pool, organisation.id, channel, now);
    if (row !== undefined) refuseUnlessTheirs(early, row.user_id);
    const stored =
      row === undefined || row.kind !== kind
        ? {}
        : await openChannel(instruments.secrets, pool, row);
    // The secret that saving generates does not exist yet, so the test is signed with a temporary
    // one.
    const made = instruments.channels.kinds
      .find(({ id }) => id === kind)
      ?.fields.filter(
        ({ name, input }) =>
          input === 'generated' && !Object.hasOwn(sent, name) && stored[name] === undefined,
      )
      .map(({ name }) => [name, `whsec_${Buffer.alloc(32).toString('base64')}`]);
    const config = channelConfigFrom(
      instruments.channels,
      kind,
      { ...Object.fromEntries(made ?? []), ...sent },
      stored,
    );
    const isSame = kind === row?.kind && config.address === stored.address;
    await refuseUnasked(
      early,
      kind,
      config,
      isSame && row?.verified_at != null && row.unsubscribed_at === null,
    );
    await countTry(pool, organisation.id, now);
    return instruments.channels.test(kind, config, {
      key: newId(),
      name: row?.name ?? null,
      channel,
      organisation: organisation.name,
    });
  },
  act: async ({ note }, _input, tried) => {
    note({ after: { verdict: tried.verdict } });
    return tried;
  },
});
