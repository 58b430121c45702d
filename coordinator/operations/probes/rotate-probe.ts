import type { rotateProbe as operation } from '../../../shared/api/inner/inner-probes.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { Answer, Context } from '../operation-context.ts';

export const rotateProbe = async (
  { sql, with: { probes } }: Context,
  { probe_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => probes.rotateProbe(sql, probe_id);
