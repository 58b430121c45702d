import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import * as api from '../../shared/api/channels.ts';
import type { InputOf } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { countMailsTo, postMail } from '../account-mail/queries.ts';
import type { Queryable } from '../database/connect.ts';
import { handle } from '../gate/bind.ts';
import { mayManage } from '../gate/caller.ts';
import type { Early, InOrganisation, OrganisationScope } from '../gate/context.ts';
import { beforeAll, pageOf } from '../gate/cursors.ts';
import { enforceLimit } from '../gate/plans.ts';
import { requireMonitors } from '../gate/records.ts';
import { requireGroups } from '../groups/queries.ts';
import { channelSecretsOf, type SecretsAtRest } from '../secrets/at-rest.ts';
import type { ChannelsPart } from './channels.ts';
import * as contract from './contract.ts';
import { hoursFrom } from './hours.ts';
import { wantsWarnings } from './kinds/index.ts';
import type { ChannelConfig } from './kinds/types.ts';
import { newSigningSecret } from './kinds/webhook.ts';
import { delayFrom, isDelivering, reminderFrom } from './policy.ts';
import {
  type ChannelRow,
  type ChannelWrite,
  channelById,
  channelPage,
  channelsOfKind,
  countChannels,
  countTry,
  insertChannel,
  isSuppressed,
  ownMailbox,
  deleteChannel as remove,
  wantVerification,
  updateChannel as write,
} from './queries.ts';

/** What the operations on channels share. */

const secretsShape = z.record(z.string(), z.string());

export async function sealChannel(
  at: SecretsAtRest,
  sql: Queryable,
  id: string,
  secrets: ChannelConfig,
): Promise<Buffer | null> {
  return Object.keys(secrets).length === 0
    ? null
    : at.seal(sql, JSON.stringify(secrets), channelSecretsOf(id));
}

/** The whole config of a channel, with its secrets. */
export async function openChannel(
  at: SecretsAtRest,
  sql: Queryable,
  { id, config, secrets }: Pick<ChannelRow, 'id' | 'config' | 'secrets'>,
): Promise<ChannelConfig> {
  return secrets === null
    ? config
    : {
        ...config,
        ...secretsShape.parse(JSON.parse(await at.open(sql, secrets, channelSecretsOf(id)))),
      };
}

/** @throws Refusal `channel_kind_unknown` or `channel_invalid`, with every fault at once. */
export function channelConfigFrom(
  channels: ChannelsPart,
  kind: string,
  sent: Readonly<Record<string, unknown>>,
  stored: ChannelConfig = {},
): ChannelConfig {
  const read = channels.read(kind, sent, stored);
  if (read === undefined) {
    const known = channels.kinds.map(({ id }) => id).join(', ');
    throw new Refusal('channel_kind_unknown', { kind: `must be one of ${known}.` });
  }
  if ('config' in read) return read.config;
  const faults = Object.entries(read.faults).map(
    ([field, fault]) => [`config.${field.slice(0, 60)}`, fault] as const,
  );
  throw new Refusal('channel_invalid', Object.fromEntries(faults), {
    message: `${faults.map((fault) => fault.join(' ')).join('; ')}.`,
  });
}

/** @throws Refusal when one does not exist. */
export async function refuseUnknown(
  { sql, organisation }: Pick<InOrganisation, 'sql' | 'organisation'>,
  {
    monitors,
    groups,
  }: { readonly monitors: readonly string[]; readonly groups: readonly string[] },
): Promise<void> {
  await requireMonitors(sql, organisation.id, monitors);
  await requireGroups(sql, organisation.id, groups);
}

/** A browser that is already a recipient would show everything twice. @throws Refusal. */
export async function refuseSecondTime(
  {
    sql,
    organisation,
    with: { channels, secrets },
  }: Pick<InOrganisation, 'sql' | 'organisation' | 'with'>,
  kind: string,
  config: ChannelConfig,
): Promise<void> {
  const given = channels.kinds
    .find(({ id }) => id === kind)
    ?.fields.find(({ input }) => input === 'subscription')?.name;
  if (given === undefined) return;
  // Secret keys are cached, so reading them makes no database query.
  for (const row of await channelsOfKind(sql, organisation.id, kind))
    if ((await openChannel(secrets, sql, row))[given] === config[given])
      throw new Refusal('channel_invalid', `This browser already has a channel: ${row.name}.`);
}

/** Members manage their own channels; owners and admins manage all. */
export function isTheirs(
  { caller }: Pick<InOrganisation, 'caller'>,
  owner: string | null,
): boolean {
  return (
    caller.is === 'operator' || mayManage(caller.role) || (owner !== null && owner === caller.user)
  );
}

/** @throws Refusal. */
export function refuseUnlessTheirs(
  context: Pick<InOrganisation, 'caller'>,
  owner: string | null,
): void {
  if (isTheirs(context, owner)) return;
  const whose =
    owner === null ? 'a team channel; create one of your own' : 'the channel of another member';
  throw new Refusal('role_insufficient', `Only an owner or an admin may change ${whose}.`);
}

/**
 * A mailbox must confirm before it gets notifications, unless it is known to be the caller's or the
 * operator vouches for it.
 */
export function isKnownMailbox(
  { caller }: Pick<InOrganisation, 'caller'>,
  kind: string,
  config: ChannelConfig,
  own: { readonly email: string; readonly verified: boolean } | undefined,
): boolean {
  return (
    kind !== 'email' ||
    caller.is === 'operator' ||
    (own?.verified === true && own.email.toLowerCase() === config.address?.toLowerCase())
  );
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const verificationMs = dayMs;

const maxToOne = 3;

/**
 * The reader is asked whether they want the alerts. The link of an earlier mail becomes invalid.
 * @throws Refusal.
 */
export async function askByMail(
  {
    sql,
    organisation,
    now,
    with: { door },
  }: Pick<InOrganisation, 'sql' | 'organisation' | 'now' | 'with'>,
  channel: string,
  address: string,
): Promise<void> {
  refuseWithoutMail(door.mail);
  if ((await countMailsTo(sql, 'channel', address, now - dayMs)) >= maxToOne)
    throw new Refusal(
      'channel_test_limit',
      {
        'config.address': `this address got ${maxToOne} confirmation mails within a day. Try again tomorrow.`,
      },
      { waitS: dayMs / 1000 },
    );
  await countTry(sql, organisation.id, now);
  await wantVerification(sql, channel, { at: now, until: now + verificationMs });
  await postMail(sql, {
    kind: 'channel',
    recipient: address,
    about: { channel },
    at: now,
  });
}

function refuseWithoutMail(mail: boolean): void {
  if (!mail)
    throw new Refusal('mail_missing', {
      'config.address':
        'mail is not set up on this installation, so other addresses cannot be confirmed. Use your own.',
    });
}

export function channelJson(
  channels: ChannelsPart,
  row: ChannelRow,
  config: ChannelConfig,
  now: number,
) {
  return {
    ...row,
    config: channels.shown(row.kind, config),
    verified: row.verified_at !== null,
    unsubscribed: row.unsubscribed_at !== null,
    owner: row.owner_email,
    delivering: isDelivering(row, now),
  };
}

/** Secrets are decrypted, because a secret address is shown as its host. */
export async function channelRow(
  context: Pick<InOrganisation, 'sql' | 'with' | 'now'>,
  row: ChannelRow,
) {
  return channelJson(
    context.with.channels,
    row,
    await openChannel(context.with.secrets, context.sql, row),
    context.now,
  );
}

/** Sends the question again, for a reader who missed the first mail or answered too late. */
export const askMailbox = handle(contract.askMailbox)(async (context, { channel_id: id }) => {
  const { sql, organisation, now } = context;
  const channel = await channelById(sql, organisation.id, id, now);
  refuseUnlessTheirs(context, channel.user_id);
  if (channel.verified_at !== null)
    throw new Refusal('channel_invalid', 'This channel is already confirmed.');
  const address = channel.config.address ?? '';
  await askByMail(context, id, address);
  return { address };
});

/** Generates a secret, which is shown once. */
export const createChannel = handle(api.createChannel)({
  /**
   * Runs before the transaction, because a test may take ten seconds. Only a config that could be
   * saved is tested.
   */
  before: async (early, input) => {
    const { sql, organisation, with: instruments } = early;
    refuseUnlessTheirs(early, ownerOf(early, input.personal));
    const prepared = preparedFrom(instruments.channels, input);
    if (!input.try || !canBeTried(instruments.channels, input.kind)) return prepared;
    if (!(await mayBeRecipient(early, sql, input.kind, prepared.config))) return prepared;
    enforceLimit('channels', organisation.plan, await countChannels(sql, organisation.id));
    await refuseUnknown({ sql, organisation }, input);
    await tryIt(early, input, prepared.config);
    return prepared;
  },
  act: async (context, input, { config, secret }) => {
    const { sql, organisation, now, note, with: instruments } = context;
    const { channels, secrets: atRest } = instruments;
    const user = ownerOf(context, input.personal);
    refuseUnlessTheirs(context, user);
    enforceLimit('channels', organisation.plan, await countChannels(sql, organisation.id));
    await refuseUnknown(context, input);
    await refuseSecondTime(context, input.kind, config);
    const { open, secrets } = channels.split(input.kind, config);
    const address = config.address ?? '';
    const isKnown = await mayBeRecipient(context, sql, input.kind, config);
    const id = newId();
    const kindName = channels.kinds.find((kind) => kind.id === input.kind)?.name ?? input.kind;
    await insertChannel(sql, {
      id,
      user,
      kind: input.kind,
      config: open,
      organisation: organisation.id,
      verified_at: isKnown ? now : null,
      name:
        input.name === null ? (input.kind === 'email' ? address : kindName) : nameFrom(input.name),
      secrets: await sealChannel(atRest, sql, id, secrets),
      host: channels.host(input.kind, config),
      enabled: input.enabled,
      covers: input.covers,
      monitors: input.monitors,
      groups: input.groups,
      delay_s: delayFrom(input.delay_s),
      reminder_s: reminderFrom(input.reminder_s ?? 0),
      hours: input.hours === null ? null : hoursFrom(input.hours, organisation.time_zone),
      warnings: input.warnings ?? wantsWarnings(input.kind),
    });
    if (!isKnown) await askByMail(context, id, address);
    note({ after: { id, kind: input.kind, config: channels.shown(input.kind, config) } });
    return {
      ...(await channelRow(context, await channelById(sql, organisation.id, id, now))),
      secret,
    };
  },
});

type Input = InputOf<typeof api.createChannel>;

/** The config as it will be saved, and the secret that we generated for it. */
type Prepared = { readonly config: ChannelConfig; readonly secret: string | null };

function ownerOf({ caller }: Pick<InOrganisation, 'caller'>, personal: boolean): string | null {
  if (personal && caller.user === null)
    throw new Refusal('channel_invalid', {
      personal: 'the operator cannot have a personal channel.',
    });
  return personal ? caller.user : null;
}

function preparedFrom(channels: ChannelsPart, { kind, config }: Input): Prepared {
  const generated = channels.kinds
    .find(({ id }) => id === kind)
    ?.fields.find(({ name, input: by }) => by === 'generated' && !Object.hasOwn(config, name));
  const secret = generated === undefined ? null : newSigningSecret();
  return {
    config: channelConfigFrom(
      channels,
      kind,
      generated === undefined ? config : { ...config, [generated.name]: secret },
    ),
    secret,
  };
}

/**
 * A request made for a browser cannot see whether that browser shows anything, so the browser's own
 * page runs the test.
 */
function canBeTried(channels: ChannelsPart, kind: string): boolean {
  return !channels.kinds
    .find(({ id }) => id === kind)
    ?.fields.some(({ input }) => input === 'subscription');
}

/** True for the caller's own mailbox, which wants alerts, and for channels that are no mailbox. */
async function mayBeRecipient(
  context: Pick<InOrganisation, 'caller' | 'organisation'>,
  sql: Queryable,
  kind: string,
  config: ChannelConfig,
): Promise<boolean> {
  return (
    isKnownMailbox(
      context,
      kind,
      config,
      context.caller.user === null ? undefined : await ownMailbox(sql, context.caller.user),
    ) &&
    !(kind === 'email' && (await isSuppressed(sql, context.organisation.id, config.address ?? '')))
  );
}

/** @throws Refusal when the receiver does not accept the message. */
async function tryIt(
  early: Early<OrganisationScope>,
  { kind, name }: Input,
  config: ChannelConfig,
): Promise<void> {
  const { pool, organisation, now, with: instruments } = early;
  await countTry(pool, organisation.id, now);
  const about = { key: newId(), name, channel: null, organisation: organisation.name };
  const {
    verdict,
    words,
    status,
    class: sort,
  } = await instruments.channels.test(kind, config, about);
  if (verdict === 'delivered') return;
  const why = words ?? `${sort.replaceAll('_', ' ')}${status === null ? '' : ` (${status})`}`;
  throw new Refusal(
    'channel_test_failed',
    `Test not delivered: ${why}. Nothing was saved. Use \`try: false\` to save anyway.`,
  );
}

export const deleteChannel = handle(api.deleteChannel)(async (context, { channel_id: id }) => {
  const { sql, organisation, now, note } = context;
  const channel = await channelById(sql, organisation.id, id, now);
  refuseUnlessTheirs(context, channel.user_id);
  await remove(sql, organisation.id, id, now);
  note({ before: { kind: channel.kind, name: channel.name } });
});

export const getChannel = handle(api.getChannel)(async (context, { channel_id: id }) =>
  channelRow(context, await channelById(context.sql, context.organisation.id, id, context.now)),
);

export const listChannelKinds = handle(contract.listChannelKinds)(
  async ({ with: { channels, door } }) => ({
    items: channels.kinds,
    push_key: await channels.pushKey(),
    mail: door.mail,
  }),
);

export const listChannels = handle(api.listChannels)(async (context, input) => {
  const { sql, organisation, now, with: instruments } = context;
  const rows = await pageOf(
    instruments.cursors,
    ['channels', organisation.id],
    input,
    (from, limit) => channelPage(sql, organisation.id, from ?? beforeAll, limit, now),
    (row) => row,
  );
  // Secret keys are cached, so this makes no database query.
  return {
    items: await Promise.all(rows.items.map((row) => channelRow(context, row))),
    next_cursor: rows.next_cursor,
  };
});

/**
 * Null leaves a value as it is. A different mailbox must confirm again. A secret goes only to the
 * host that it was given for.
 */
export const updateChannel = handle(api.updateChannel)(async (context, input) => {
  const { sql, organisation, caller, now, note, with: instruments } = context;
  const { channels, secrets: atRest } = instruments;
  const before = await channelById(sql, organisation.id, input.channel_id, now);
  refuseUnlessTheirs(context, before.user_id);
  const stored = await openChannel(atRest, sql, before);
  // A secret that we generated stays, whether or not the caller sends it back.
  const made =
    channels.kinds
      .find(({ id }) => id === before.kind)
      ?.fields.filter((field) => field.input === 'generated') ?? [];
  const kept = Object.fromEntries(made.map(({ name }) => [name, '***']));
  const config =
    input.config === null
      ? stored
      : channelConfigFrom(channels, before.kind, { ...kept, ...input.config }, stored);
  const chosen = {
    monitors: input.monitors ?? before.monitors,
    groups: input.groups ?? before.groups,
  };
  await refuseUnknown(context, { monitors: input.monitors ?? [], groups: input.groups ?? [] });
  const { open, secrets } = channels.split(before.kind, config);
  const isMoved =
    before.kind === 'email' && config.address?.toLowerCase() !== stored.address?.toLowerCase();
  const mustAsk =
    isMoved &&
    (!isKnownMailbox(
      context,
      before.kind,
      config,
      caller.user === null ? undefined : await ownMailbox(sql, caller.user),
    ) ||
      (await isSuppressed(sql, organisation.id, config.address ?? '')));
  const changed = {
    ...chosen,
    name: input.name === null ? before.name : nameFrom(input.name),
    enabled: input.enabled ?? before.enabled,
    covers: input.covers ?? before.covers,
    delay_s: delayFrom(input.delay_s ?? before.delay_s),
    reminder_s: reminderFrom(input.reminder_s ?? before.reminder_s ?? 0),
    hours: input.hours === null ? before.hours : hoursFrom(input.hours, organisation.time_zone),
    warnings: input.warnings ?? before.warnings,
  };
  await write(
    sql,
    {
      ...changed,
      id: before.id,
      user: before.user_id,
      kind: before.kind,
      config: open,
      organisation: organisation.id,
      secrets: await sealChannel(atRest, sql, before.id, secrets),
      host: channels.host(before.kind, config),
      verified_at: isMoved ? (mustAsk ? null : now) : before.verified_at,
    },
    now,
  );
  if (mustAsk) await askByMail(context, before.id, config.address ?? '');
  note({
    before: channelNoted(before, channels.shown(before.kind, stored)),
    after: {
      ...channelNoted(changed, channels.shown(before.kind, config)),
      ...(isDeepStrictEqual(channels.split(before.kind, stored).secrets, secrets)
        ? {}
        : { secrets: 'others' }),
    },
  });
  return channelRow(context, await channelById(sql, organisation.id, before.id, now));
});

/** For the audit log: what people set. */
function channelNoted(row: Noted, config: ChannelConfig) {
  const { name, enabled, covers, delay_s, reminder_s, hours, warnings } = row;
  const [monitors, groups] = [row.monitors.toSorted(), row.groups.toSorted()];
  const rest = { delay_s, reminder_s, hours, warnings };
  return { name, config, enabled, covers, monitors, groups, ...rest };
}

type Noted = Omit<
  ChannelWrite,
  'id' | 'kind' | 'config' | 'secrets' | 'verified_at' | 'organisation' | 'user' | 'host'
>;
