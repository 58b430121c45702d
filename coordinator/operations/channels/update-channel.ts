import type { updateChannel as operation } from '../../../shared/api/channels.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { hoursFrom } from '../../domain/telling/telling-hours.ts';
import { delayFrom, reminderFrom } from '../../domain/telling/telling-waits.ts';
import { channelById, isSuppressed, ownMailbox, updateChannel as write } from '../../store/store-channels.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import {
  askByMail,
  channelConfigFrom,
  channelShown,
  isKnownMailbox,
  openChannel,
  refuseUnknown,
  refuseUnlessTheirs,
  sealChannel,
} from './operation-channel-shared.ts';

/** What is null stays. Another mailbox is asked anew, and a secret goes to no other host than it was given for. */
export const updateChannel = async (context: InOrganisation, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation, caller, now, note, with: instruments } = context;
  const { channels, secrets: atRest } = instruments;
  const before = found(await channelById(sql, organisation.id, input.channel_id, now), 'channel_not_found');
  refuseUnlessTheirs(context, before.user_id);
  const stored = await openChannel(atRest, sql, before);
  // What we made ourselves stays, whether it is sent back or not.
  const made = channels.kinds.find(({ id }) => id === before.kind)?.fields.filter((field) => field.input === 'generated') ?? [];
  const kept = Object.fromEntries(made.map(({ name }) => [name, '***']));
  const config = input.config === null ? stored : channelConfigFrom(channels, before.kind, { ...kept, ...input.config }, stored);
  const chosen = { monitors: input.monitors ?? before.monitors, groups: input.groups ?? before.groups };
  await refuseUnknown(context, { monitors: input.monitors ?? [], groups: input.groups ?? [] });
  const { open, secrets } = channels.split(before.kind, config);
  const isMoved = before.kind === 'email' && config.address?.toLowerCase() !== stored.address?.toLowerCase();
  const mustAsk =
    isMoved &&
    (!isKnownMailbox(context, before.kind, config, caller.user === null ? undefined : await ownMailbox(sql, caller.user)) ||
      (await isSuppressed(sql, organisation.id, config.address ?? '')));
  await write(
    sql,
    {
      ...{ id: before.id, user: before.user_id, kind: before.kind, config: open, organisation: organisation.id, ...chosen },
      name: input.name === null ? before.name : nameFrom(input.name),
      secrets: await sealChannel(atRest, sql, before.id, secrets),
      host: channels.host(before.kind, config),
      ...{
        enabled: input.enabled ?? before.enabled,
        covers: input.covers ?? before.covers,
        delay_s: delayFrom(input.delay_s ?? before.delay_s),
      },
      reminder_s: reminderFrom(input.reminder_s ?? before.reminder_s ?? 0),
      hours: input.hours === null ? before.hours : hoursFrom(input.hours, organisation.time_zone),
      verified_at: isMoved ? (mustAsk ? null : new Date(now)) : before.verified_at,
    },
    new Date(now),
  );
  if (mustAsk) await askByMail(context, before.id, config.address ?? '');
  note({ before: { config: channels.shown(before.kind, stored) }, after: { config: channels.shown(before.kind, config) } });
  return channelShown(context, found(await channelById(sql, organisation.id, before.id, now), 'channel_not_found'));
};
