import { hostname } from 'node:os';
import type { Clock } from '../../shared/base/time.ts';
import { isOldZoneData, oldZoneDays, zoneDataAt } from '../domain/zone-data.ts';
import type { Sql } from '../store/store-database.ts';
import { endNotice, endNoticesOfGone, openNotice } from '../store/store-notices.ts';

/** A notice while the time zones that a coordinator goes by are old: windows and schedules would follow clocks that have changed since. */
export const createZoneNotice = (parts: {
  readonly sql: Sql;
  readonly owner: string;
  readonly clock: Clock;
  readonly version: string | undefined;
  readonly isLeader: () => boolean;
}): { readonly tick: () => Promise<void> } => {
  const { sql, owner, clock, version, isLeader } = parts;
  let told: string | undefined;
  return {
    tick: async () => {
      const data = zoneDataAt(version, clock.now());
      // Its words stay the same from day to day, so that it is written once.
      const message = isOldZoneData(data)
        ? `The time zones of the coordinator on ${hostname()} are of version ${data.version}${data.released_on === null ? '' : ` of ${data.released_on}`}, over ${oldZoneDays} days old; clocks may have changed since`
        : undefined;
      if (message !== undefined && message !== told) await openNotice(sql, 'time_zones_old', owner, message);
      if (message === undefined && told !== undefined) await endNotice(sql, 'time_zones_old', owner);
      told = message;
      if (isLeader()) await endNoticesOfGone(sql, 'time_zones_old');
    },
  };
};
