import type { sayOutageFalse as operation } from '../../../shared/api/inner/inner-own-record.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { sayFalse } from '../../store/store-own-record-days.ts';
import type { Answer, Context } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

export const sayOutageFalse = async (
  { sql }: Context,
  { incident_id: incident, is_false }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => ({
  incident,
  monitor: found(await sayFalse(sql, incident, is_false), 'incident_not_found'),
  is_false,
});
