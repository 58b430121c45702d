import type { foundOrganisation as operation } from '../../../shared/api/inner/inner-people.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { planOfAnother } from '../../domain/another-organisation.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { timeZoneFrom } from '../../domain/organisation.ts';
import { insertFirstChannel } from '../../store/store-channels.ts';
import { insertOrganisation } from '../../store/store-organisations.ts';
import { writeActiveOrganisation } from '../../store/store-sessions.ts';
import { insertMember, ownedPlans } from '../../store/store-users.ts';
import type { Answer, ByPerson } from '../operation-context.ts';

/** Another organisation, which whoever makes it owns, and acts in from now on. */
export const foundOrganisation = async (context: ByPerson, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const { sql, person, now, note } = context;
  const owned = await ownedPlans(sql, person.user);
  const plan = planOfAnother({ owned, isProven: person.email_verified }, context.with.door);
  if (plan instanceof Refusal) throw plan;
  const organisation = { id: newId(), name: nameFrom(input.name), plan, time_zone: timeZoneFrom(input.time_zone) };
  const { id, name } = organisation;
  await insertOrganisation(sql, organisation);
  await insertMember(sql, id, person.user, 'owner');
  if (person.email_verified) await insertFirstChannel(sql, { organisation: id, email: person.email, at: new Date(now) });
  await writeActiveOrganisation(sql, person.session, id);
  note({ organisation: id, after: organisation });
  return { id, name };
};
