import { z } from 'zod';
import { Refusal } from '../../../shared/base/errors.ts';
import { channelSecretsOf, type SecretsAtRest } from '../../access/access-secrets-at-rest.ts';
import { mayManage } from '../../domain/organisation.ts';
import { isDelivering } from '../../domain/telling/telling-channel.ts';
import { type ChannelRow, channelsOfKind, countChannelTest, wantVerification } from '../../store/store-channels.ts';
import type { Queryable } from '../../store/store-database.ts';
import { groupsAmong } from '../../store/store-groups.ts';
import { countMailsTo, postMail } from '../../store/store-mails.ts';
import { monitorsAmong } from '../../store/store-monitors.ts';
import type { InOrganisation } from '../operation-context.ts';
import { notFound } from '../operation-not-found.ts';
import type { ChannelConfig, ChannelsPart } from './operation-channel-needs.ts';

/** What the operations on channels share. */

const secretsShape = z.record(z.string(), z.string());

export const sealChannel = async (at: SecretsAtRest, sql: Queryable, id: string, secrets: ChannelConfig): Promise<Buffer | null> =>
  Object.keys(secrets).length === 0 ? null : at.seal(sql, JSON.stringify(secrets), channelSecretsOf(id));

/** The whole config of a channel, with its secrets. */
export const openChannel = async (
  at: SecretsAtRest,
  sql: Queryable,
  { id, config, secrets }: Pick<ChannelRow, 'id' | 'config' | 'secrets'>,
): Promise<ChannelConfig> =>
  secrets === null ? config : { ...config, ...secretsShape.parse(JSON.parse(await at.open(sql, secrets, channelSecretsOf(id)))) };

/** @throws Refusal `channel_kind_unknown` or `channel_invalid`, with every fault at once. */
export const channelConfigFrom = (
  channels: ChannelsPart,
  kind: string,
  sent: Readonly<Record<string, unknown>>,
  stored: ChannelConfig = {},
): ChannelConfig => {
  const read = channels.read(kind, sent, stored);
  if (read === undefined) {
    const known = channels.kinds.map(({ id }) => id).join(', ');
    throw new Refusal('channel_kind_unknown', `kind: there is no kind of channel "${kind.slice(0, 60)}"; one of ${known} would do.`);
  }
  if ('config' in read) return read.config;
  const faults = Object.entries(read.faults).map(([field, fault]) => `config.${field.slice(0, 60)} ${fault}`);
  throw new Refusal('channel_invalid', `${faults.join('; ')}.`);
};

/** @throws Refusal when one of them is not there. */
export const refuseUnknown = async (
  { sql, organisation }: Pick<InOrganisation, 'sql' | 'organisation'>,
  { monitors, groups }: { readonly monitors: readonly string[]; readonly groups: readonly string[] },
): Promise<void> => {
  const [known, knownGroups] = [await monitorsAmong(sql, organisation.id, monitors), await groupsAmong(sql, organisation.id, groups)];
  if (monitors.some((id) => !known.has(id))) throw notFound('monitor_not_found');
  if (groups.some((id) => !knownGroups.has(id))) throw notFound('group_not_found');
};

/** A browser that is told already would show everything twice. @throws Refusal. */
export const refuseSecondTime = async (
  { sql, organisation, with: { channels, secrets } }: Pick<InOrganisation, 'sql' | 'organisation' | 'with'>,
  kind: string,
  config: ChannelConfig,
): Promise<void> => {
  const given = channels.kinds.find(({ id }) => id === kind)?.fields.find(({ input }) => input === 'subscription')?.name;
  if (given === undefined) return;
  // Keys of secrets are remembered, so that reading them asks the database nothing.
  for (const row of await channelsOfKind(sql, organisation.id, kind))
    if ((await openChannel(secrets, sql, row))[given] === config[given])
      throw new Refusal('channel_invalid', `This browser is told already, by the channel ${row.name}.`);
};

/** Members look after their own channels, owners and admins after all. @throws Refusal. */
export const refuseUnlessTheirs = ({ caller }: Pick<InOrganisation, 'caller'>, owner: string | null): void => {
  if (caller.is === 'operator' || mayManage(caller.role) || (owner !== null && owner === caller.user)) return;
  const whose = owner === null ? 'a channel of the organisation; make one of your own' : 'the channel of another member';
  throw new Refusal('role_insufficient', `Only an owner or an admin may change ${whose}.`);
};

/** A mailbox is asked before it is told of anything, unless it is known to be the caller's, or the operator vouches for it. */
export const isKnownMailbox = (
  { caller }: Pick<InOrganisation, 'caller'>,
  kind: string,
  config: ChannelConfig,
  own: { readonly email: string; readonly verified: boolean } | undefined,
): boolean =>
  kind !== 'email' || caller.is === 'operator' || (own?.verified === true && own.email.toLowerCase() === config.address?.toLowerCase());

const refuseWithoutMail = (mail: boolean): void => {
  if (!mail)
    throw new Refusal(
      'mail_missing',
      'config.address: mail is not set up on this installation, so that no other mailbox can be asked; give your own.',
    );
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const verificationMs = dayMs;

/** What is tested and asked goes to addresses of others: nobody is flooded. */
const mostAnHour = 10;
const mostToOne = 3;

/** Counts one more test, or question to a mailbox. @throws Refusal. */
export const countTry = async (sql: Queryable, organisation: string, now: number): Promise<void> => {
  if ((await countChannelTest(sql, organisation, new Date(now))) > mostAnHour)
    throw new Refusal(
      'channel_test_limit',
      `An organisation may test channels and ask mailboxes ${mostAnHour} times an hour; wait a while.`,
      hourMs / 1000,
    );
};

/** Whoever reads it is asked whether they want the alerts; what was asked before is good no more. @throws Refusal. */
export const askByMail = async (
  { sql, organisation, now, with: { door } }: Pick<InOrganisation, 'sql' | 'organisation' | 'now' | 'with'>,
  channel: string,
  address: string,
): Promise<void> => {
  refuseWithoutMail(door.mail);
  if ((await countMailsTo(sql, 'channel', address, new Date(now - dayMs))) >= mostToOne)
    throw new Refusal(
      'channel_test_limit',
      `config.address: this mailbox was asked ${mostToOne} times within a day; wait until tomorrow.`,
      dayMs / 1000,
    );
  await countTry(sql, organisation.id, now);
  await wantVerification(sql, channel, new Date(now + verificationMs));
  await postMail(sql, { kind: 'channel', recipient: address, about: { channel }, at: new Date(now) });
};

export const channelOut = (channels: ChannelsPart, row: ChannelRow, config: ChannelConfig, now: number) => ({
  id: row.id,
  kind: row.kind,
  name: row.name,
  config: { ...channels.shown(row.kind, config) },
  enabled: row.enabled,
  verified: row.verified_at !== null,
  unsubscribed: row.unsubscribed_at !== null,
  covers: row.covers,
  monitors: row.monitors,
  groups: row.groups,
  delay_s: row.delay_s,
  reminder_s: row.reminder_s,
  hours: row.hours,
  owner: row.owner_email,
  delivering: isDelivering({ failing_since: row.failing_since?.getTime() ?? null, refused_at: row.refused_at?.getTime() ?? null }, now),
  failure: row.failure,
  last_taken_at: row.last_taken_at?.toISOString() ?? null,
  p95_ms: row.p95_ms,
  created_at: row.created_at.toISOString(),
});

/** With its secrets read, so that what is shown of a secret address is its host. */
export const channelShown = async (context: Pick<InOrganisation, 'sql' | 'with' | 'now'>, row: ChannelRow) =>
  channelOut(context.with.channels, row, await openChannel(context.with.secrets, context.sql, row), context.now);
