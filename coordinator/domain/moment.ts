import type { Moment } from './maintenance.ts';
import { instantOf } from './zone-clock.ts';

/** A moment as somebody wrote it: without an offset it is a local time of the zone. */
export const epochOf = (moment: Moment, zone: string): number =>
  moment.is === 'instant' ? moment.at : instantOf(Date.parse(`${moment.local}Z`), zone);
