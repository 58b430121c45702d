import type { showFigures as operation } from '../../../shared/api/inner/inner-operator.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { version } from '../../../shared/base/process.ts';
import { zoneDataAt } from '../../domain/zone-data.ts';
import { figuresOfHouse } from '../../store/store-operators.ts';
import type { Answer, Context } from '../operation-context.ts';

const hour = 3_600_000;

export const showFigures = async ({ sql, now }: Context): Answer<OutputOf<typeof operation>> => {
  const { checks, ...figures } = await figuresOfHouse(sql, new Date(now));
  const from = checks === null ? 0 : Date.parse(checks.from);
  return {
    ...figures,
    checks: checks === null ? null : { from: new Date(from).toISOString(), to: new Date(from + hour).toISOString(), count: checks.count },
    version,
    time_zone_data: zoneDataAt(process.versions.tz, now),
  };
};
