import type { revokeProbe as operation } from '../../../shared/api/inner/inner-probes.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { Answer, Context } from '../operation-context.ts';

export const revokeProbe = async (
  { sql, with: { probes } }: Context,
  { probe_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  await probes.revokeProbe(sql, probe_id);
  return { id: probe_id };
};
