import type { trustProbe as operation } from '../../../shared/api/inner/inner-probes.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { endNotice } from '../../store/store-notices.ts';
import { trustPlace } from '../../store/store-probes.ts';
import type { Answer, Context } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

export const trustProbe = async (
  { sql }: Context,
  { probe_id: id, is_trusted }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { name, continent } = found(await trustPlace(sql, id, is_trusted), 'probe_not_found');
  if (is_trusted) await endNotice(sql, 'continent_doubted', id);
  return { id, name, continent, is_trusted };
};
