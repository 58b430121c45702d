import { randomBytes } from 'node:crypto';
import type { createChannel as operation } from '../../../shared/api/channels.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { mayHaveOneMore } from '../../domain/plan-limits.ts';
import { hoursFrom } from '../../domain/telling/telling-hours.ts';
import { delayFrom, reminderFrom } from '../../domain/telling/telling-waits.ts';
import { channelById, countChannels, insertChannel, isSuppressed, ownMailbox } from '../../store/store-channels.ts';
import type { Queryable } from '../../store/store-database.ts';
import type { Answer, Early, InOrganisation, Place } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import type { ChannelConfig, ChannelsPart } from './operation-channel-needs.ts';
import {
  askByMail,
  channelConfigFrom,
  channelShown,
  countTry,
  isKnownMailbox,
  refuseSecondTime,
  refuseUnknown,
  refuseUnlessTheirs,
  sealChannel,
} from './operation-channel-shared.ts';

/** What we make ourselves for a channel, to be shown once. */
const madeSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

type Input = InputOf<typeof operation>;

/** Its config as it will be saved, and the secret that we made for it. */
type Prepared = { readonly config: ChannelConfig; readonly secret: string | null };

const ownerOf = ({ caller }: Pick<InOrganisation, 'caller'>, personal: boolean): string | null => {
  if (personal && caller.user === null) throw new Refusal('channel_invalid', 'personal: the operator has no channels of his own.');
  return personal ? caller.user : null;
};

const preparedFrom = (channels: ChannelsPart, { kind, config }: Input): Prepared => {
  const generated = channels.kinds
    .find(({ id }) => id === kind)
    ?.fields.find(({ name, input: by }) => by === 'generated' && !Object.hasOwn(config, name));
  const secret = generated === undefined ? null : madeSecret();
  return { config: channelConfigFrom(channels, kind, generated === undefined ? config : { ...config, [generated.name]: secret }), secret };
};

/** Whether it is the caller's own mailbox, which wants alerts, or no mailbox at all. */
const mayBeTold = async (
  context: Pick<InOrganisation, 'caller' | 'organisation'>,
  sql: Queryable,
  kind: string,
  config: ChannelConfig,
): Promise<boolean> =>
  isKnownMailbox(context, kind, config, context.caller.user === null ? undefined : await ownMailbox(sql, context.caller.user)) &&
  !(kind === 'email' && (await isSuppressed(sql, context.organisation.id, config.address ?? '')));

/** Who asks in the name of a browser cannot see whether it shows anything; its own page tries it. */
const canBeTried = (channels: ChannelsPart, kind: string): boolean =>
  !channels.kinds.find(({ id }) => id === kind)?.fields.some(({ input }) => input === 'subscription');

/** @throws Refusal when a message to it is not taken. */
const tryIt = async (early: Early<Place>, { kind, name }: Input, config: ChannelConfig): Promise<void> => {
  const { pool, organisation, now, with: instruments } = early;
  await countTry(pool, organisation.id, now);
  const about = { key: newId(), name, channel: null, organisation: organisation.name };
  const { verdict, words, status, class: sort } = await instruments.channels.test(kind, config, about);
  if (verdict === 'taken') return;
  const why = words ?? `${sort.replaceAll('_', ' ')}${status === null ? '' : ` (${status})`}`;
  throw new Refusal(
    'channel_test_failed',
    `The test message was not taken: ${why}. Nothing is saved; \`try: false\` saves it all the same.`,
  );
};

/** Tried before the transaction, because it may take ten seconds; and only what could be saved is tried. */
const prepare = async (early: Early<Place>, input: Input): Promise<Prepared> => {
  const { pool, organisation, with: instruments } = early;
  refuseUnlessTheirs(early, ownerOf(early, input.personal));
  const prepared = preparedFrom(instruments.channels, input);
  if (!input.try || !canBeTried(instruments.channels, input.kind)) return prepared;
  if (!(await mayBeTold(early, pool, input.kind, prepared.config))) return prepared;
  mayHaveOneMore('channels', organisation.plan, await countChannels(pool, organisation.id));
  await refuseUnknown({ sql: pool, organisation }, input);
  await tryIt(early, input, prepared.config);
  return prepared;
};

const act = async (context: InOrganisation, input: Input, { config, secret }: Prepared): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation, now, note, with: instruments } = context;
  const { channels, secrets: atRest } = instruments;
  const user = ownerOf(context, input.personal);
  refuseUnlessTheirs(context, user);
  mayHaveOneMore('channels', organisation.plan, await countChannels(sql, organisation.id));
  await refuseUnknown(context, input);
  await refuseSecondTime(context, input.kind, config);
  const { open, secrets } = channels.split(input.kind, config);
  const address = config.address ?? '';
  const isKnown = await mayBeTold(context, sql, input.kind, config);
  const id = newId();
  const kindName = channels.kinds.find((kind) => kind.id === input.kind)?.name ?? input.kind;
  await insertChannel(sql, {
    ...{ id, user, kind: input.kind, config: open, organisation: organisation.id, verified_at: isKnown ? new Date(now) : null },
    name: input.name === null ? (input.kind === 'email' ? address : kindName) : nameFrom(input.name),
    secrets: await sealChannel(atRest, sql, id, secrets),
    host: channels.host(input.kind, config),
    ...{ enabled: input.enabled, covers: input.covers, monitors: input.monitors, groups: input.groups, delay_s: delayFrom(input.delay_s) },
    reminder_s: reminderFrom(input.reminder_s ?? 0),
    hours: input.hours === null ? null : hoursFrom(input.hours, organisation.time_zone),
  });
  if (!isKnown) await askByMail(context, id, address);
  note({ after: { id, kind: input.kind, config: channels.shown(input.kind, config) } });
  return { ...(await channelShown(context, found(await channelById(sql, organisation.id, id, now), 'channel_not_found'))), secret };
};

export const createChannel = { before: prepare, act };
