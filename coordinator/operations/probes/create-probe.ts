import type { createProbe as operation } from '../../../shared/api/inner/inner-probes.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { continents, isContinent } from '../../../shared/base/continents.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { mayHaveOneMore } from '../../domain/plan-limits.ts';
import { lockOrganisation } from '../../store/store-organisations.ts';
import { countPrivateProbes } from '../../store/store-probe-invitations.ts';
import type { Answer, Context } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

export const createProbe = async (
  { sql, now, with: { probes } }: Context,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const name = nameFrom(input.name);
  const { continent, organisation } = input;
  if (!isContinent(continent))
    throw new Refusal('continent_unknown', `continent: there is no continent "${continent}"; one of ${continents.join(', ')} would do.`);
  if (organisation !== null) {
    const { plan } = found(await lockOrganisation(sql, organisation), 'organisation_not_found');
    mayHaveOneMore('private_probes', plan, await countPrivateProbes(sql, organisation, new Date(now)));
  }
  return probes.createProbe(sql, { name, continent, organisation });
};
