import type { showOwnProbe as showOperation } from '../../../shared/api/inner/inner-probes.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { endProbe as endOperation } from '../../../shared/api/probes.ts';
import { lockedOwnProbe, monitorsOfProbe, type OwnProbe } from '../../store/store-own-probes.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

const shown = async ({ sql, organisation }: InOrganisation, probe: OwnProbe) => ({
  ...probe,
  ...(await monitorsOfProbe(sql, organisation.id, probe.id)),
});

const ownProbe = async ({ sql, organisation }: InOrganisation, id: string): Promise<OwnProbe> =>
  found(await lockedOwnProbe(sql, organisation.id, id), 'probe_not_found');

export const showOwnProbe = async (
  context: InOrganisation,
  { probe_id }: InputOf<typeof showOperation>,
): Answer<OutputOf<typeof showOperation>> => shown(context, await ownProbe(context, probe_id));

/** As the operator ends one: its keys are void, and the bus hears of it with the commit. */
export const endProbe = async (
  context: InOrganisation,
  { probe_id }: InputOf<typeof endOperation>,
): Answer<OutputOf<typeof endOperation>> => {
  const { sql, note, with: parts } = context;
  const probe = await ownProbe(context, probe_id);
  note({ before: { name: probe.name, continent: probe.continent } });
  const ended = await shown(context, probe);
  await parts.probes.revokeProbe(sql, probe.id);
  return ended;
};
