import { randomBytes } from 'node:crypto';
import type { createChannel as operation } from '../../../shared/api/api-channels.ts';
import type { InputOf, OutputOf } from '../../../shared/api/api-operation.ts';
import { newId } from '../../../shared/base/ids.ts';
import { Refusal } from '../../../shared/base/refusal.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { mayHaveOneMore } from '../../domain/plan-limits.ts';
import { hoursFrom } from '../../domain/telling/telling-hours.ts';
import { delayFrom, reminderFrom } from '../../domain/telling/telling-waits.ts';
import { channelById, countChannels, insertChannel, isSuppressed, ownMailbox } from '../../store/store-channels.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import {
  askByMail,
  channelConfigFrom,
  channelShown,
  isKnownMailbox,
  refuseSecondTime,
  refuseUnknown,
  refuseUnlessTheirs,
  sealChannel,
} from './operation-channel-shared.ts';

/** What we make ourselves for a channel, to be shown once. */
const madeSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

export const createChannel = async (context: InOrganisation, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation, caller, now, note, with: instruments } = context;
  const { channels, secrets: atRest } = instruments;
  if (input.personal && caller.user === null) throw new Refusal('channel_invalid', 'personal: the operator has no channels of his own.');
  const user = input.personal ? caller.user : null;
  refuseUnlessTheirs(context, user);
  mayHaveOneMore('channels', organisation.plan, await countChannels(sql, organisation.id));
  const generated = channels.kinds
    .find(({ id }) => id === input.kind)
    ?.fields.find(({ name, input: by }) => by === 'generated' && !Object.hasOwn(input.config, name));
  const secret = generated === undefined ? null : madeSecret();
  const config = channelConfigFrom(
    channels,
    input.kind,
    generated === undefined ? input.config : { ...input.config, [generated.name]: secret },
  );
  await refuseUnknown(context, input);
  await refuseSecondTime(context, input.kind, config);
  const { open, secrets } = channels.split(input.kind, config);
  const address = config.address ?? '';
  const isKnown =
    isKnownMailbox(context, input.kind, config, caller.user === null ? undefined : await ownMailbox(sql, caller.user)) &&
    !(input.kind === 'email' && (await isSuppressed(sql, organisation.id, address)));
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
