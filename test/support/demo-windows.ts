/** Maintenance of the demo: one that runs, some that come, one that is over. */

import type { Sql } from '../../coordinator/database/connect.ts';
import { insertWindow } from '../../coordinator/maintenance/queries.ts';
import type { Moment } from '../../coordinator/maintenance/recurrence.ts';
import { draftWindow } from '../../coordinator/maintenance/window.ts';
import { newId } from '../../shared/base/crypto.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

export type DemoWindows = { readonly certificates: string; readonly monthly: string };

type Of = { readonly monitor: (name: string) => string; readonly group: (name: string) => string };

const local = (text: string): Moment => ({ is: 'local', local: `${text}:00.000` });

export const seedDemoWindows = async (sql: Sql, organisation: string, now: number, { monitor, group }: Of): Promise<DemoWindows> => {
  const at = (ago: number): Moment => ({ is: 'instant', at: now - ago });
  const make = async (
    name: string | null,
    times: { readonly starts_at: Moment; readonly ends_at: Moment; readonly rrule: string | null },
    covers: { readonly monitors?: readonly string[]; readonly groups?: readonly string[] },
    zone = 'UTC',
  ): Promise<string> => {
    const id = newId();
    const draft = draftWindow({ name, ...times }, zone);
    await insertWindow(sql, { id, organisation, draft, monitors: covers.monitors ?? [], groups: covers.groups ?? [] }, now - 10 * day);
    return id;
  };
  const once = { rrule: null };
  const certificates = await make(
    'New certificates',
    { starts_at: at(12 * minute), ends_at: at(-48 * minute), ...once },
    { monitors: [monitor('Login')] },
  );
  // The last Sunday of a month, at night: what summer time does to it is seen within the year.
  const today = new Date(now);
  const monthEnd = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 2, 0));
  const sunday = new Date(monthEnd.getTime() - monthEnd.getUTCDay() * day).toISOString().slice(0, 10);
  const monthly = await make(
    'Database upgrades',
    { starts_at: local(`${sunday}T02:30`), ends_at: local(`${sunday}T04:00`), rrule: 'FREQ=MONTHLY;BYDAY=-1SU' },
    { groups: [group('Platform')], monitors: [monitor('Nightly backup'), monitor('Stock')] },
    'Europe/Berlin',
  );
  await make(
    null,
    { starts_at: at(-5 * hour), ends_at: at(-6 * hour), ...once },
    { monitors: [monitor('Store Denver'), monitor('Store Austin')] },
  );
  await make(
    'Move of the old shop',
    { starts_at: at(3 * day), ends_at: at(3 * day - 4 * hour), ...once },
    { monitors: [monitor('Old shop')] },
  );
  return { certificates, monthly };
};
