import type { endOrganisation as ending, keepOrganisation as keeping } from '../../../shared/api/inner/inner-organisation.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { isSameName, keptMs } from '../../domain/organisation-ending.ts';
import { ownersOf } from '../../store/store-last-resorts.ts';
import { postMails } from '../../store/store-mails.ts';
import { beginEnding, undoEnding } from '../../store/store-organisation-endings.ts';
import { ownName } from '../../store/store-users.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

/** All owners hear of it, whoever did it. */
const mailOwners = async (
  { sql, organisation: { id, name, time_zone }, caller, now }: InOrganisation,
  what: 'ends' | 'kept',
  endsAt: Date,
): Promise<void> => {
  const by = caller.user === null ? null : ((await ownName(sql, caller.user)) ?? null);
  const about = { what, organisation: name, by, ends_at: endsAt.toISOString(), time_zone };
  const owners = (await ownersOf(sql, [id])).get(id) ?? [];
  await postMails(
    sql,
    owners.map((recipient) => ({ kind: 'organisation', recipient, about, at: new Date(now) })),
  );
};

/** From now on it is only looked at, and nothing of it is checked or told; in some days the housekeeper deletes it. */
export const endOrganisation = async (context: InOrganisation, { name }: InputOf<typeof ending>): Answer<OutputOf<typeof ending>> => {
  const { sql, organisation, caller, now, note } = context;
  if (!isSameName(name, organisation.name))
    throw new Refusal('name_invalid', `name: this is not what the organisation is called; type ${organisation.name} as it stands.`);
  const endsAt = new Date(now + keptMs);
  const paused = await beginEnding(sql, { organisation: organisation.id, user: caller.user, at: new Date(now), endsAt });
  await mailOwners(context, 'ends', endsAt);
  note({ before: { ends_at: null }, after: { ends_at: endsAt.toISOString(), paused } });
  return { id: organisation.id, ends_at: endsAt.toISOString(), paused };
};

export const keepOrganisation = async (context: InOrganisation): Answer<OutputOf<typeof keeping>> => {
  const { sql, organisation, now, note } = context;
  if (organisation.ends_at === null) throw new Refusal('organisation_not_ending', `Nobody wants ${organisation.name} to be deleted.`);
  const endsAt = new Date(organisation.ends_at);
  const resumed = await undoEnding(sql, organisation.id, new Date(now));
  if (resumed === undefined)
    throw new Refusal('organisation_ending', `The days in which ${organisation.name} could be kept are over; it is being deleted.`);
  await mailOwners(context, 'kept', endsAt);
  note({ before: { ends_at: endsAt.toISOString() }, after: { ends_at: null, resumed } });
  return { id: organisation.id, resumed };
};
