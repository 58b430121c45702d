import type { createOrganisation as operation } from '../../../shared/api/inner/inner-account.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { timeZoneFrom } from '../../domain/organisation.ts';
import { planNamed } from '../../domain/plan-limits.ts';
import { insertOrganisation } from '../../store/store-organisations.ts';
import type { Answer, Context } from '../operation-context.ts';

export const createOrganisation = async ({ sql, note }: Context, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const organisation = {
    id: newId(),
    name: nameFrom(input.name),
    plan: planNamed(input.plan),
    time_zone: timeZoneFrom(input.time_zone),
  };
  await insertOrganisation(sql, organisation);
  note({ organisation: organisation.id });
  return organisation;
};
