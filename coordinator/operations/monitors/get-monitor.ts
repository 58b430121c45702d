import type { getMonitor as operation } from '../../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { monitorById } from '../../store/monitors.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { found } from '../not-found.ts';
import { monitorOut } from './monitor-out.ts';

export const getMonitor = async (
  { sql, organisation }: InOrganisation,
  { monitor_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => monitorOut(found(await monitorById(sql, organisation.id, monitor_id), 'monitor_not_found'));
