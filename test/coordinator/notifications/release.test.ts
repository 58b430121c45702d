import { expect, test } from 'vitest';
import { inTransaction } from '../../../coordinator/database/sql.ts';
import { takeLeases } from '../../../coordinator/engine/queries.ts';
import { createAlerter, writeAlerts } from '../../../coordinator/notifications/release.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { eventually } from '../../support/eventually.ts';
import { testLog } from '../../support/network.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase();

test('a clock that is set back while alerts are held does not prolong the wait until it is as late again', async () => {
  const [owner, organisation, monitor, incident] = [newId(), newId(), newId(), newId()];
  const hour = 3_600_000;
  let now = Date.UTC(2026, 0, 1);
  await sql`insert into organisations (id, name, plan, time_zone) values (${organisation}, 'house', 'team', 'UTC')`;
  await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
    values (${monitor}, ${organisation}, 3, 'shop', 'https', 'https://shop.example', 60)`;
  await sql`insert into incidents (id, organisation_id, monitor_id, started_at, seen_continent)
    values (${incident}, ${organisation}, ${monitor}, ${new Date(now - 2 * hour)}, 'Europe')`;
  await inTransaction(sql, (transaction) =>
    writeAlerts(transaction, [{ event: 'down', incident, due_at: now - 2 * hour }]),
  );
  const leases = await takeLeases(sql, owner, [...Array(32).keys()], 60_000);
  let isCaughtUp = false;
  const known = () => leases.map((lease) => ({ lease, isCaughtUp, isDecidedEarly: () => false }));
  const alerter = createAlerter({ sql, clock: { now: () => now }, log: testLog(), owner, known });
  const states = async () =>
    (await sql<{ state: string }[]>`select state from alerts`).map(({ state }) => state);

  await alerter.tick();
  expect(await states()).toEqual(['held']);
  now -= hour;
  isCaughtUp = true;
  await eventually(async () => {
    await alerter.tick();
    return (await states()).join() === 'due';
  });
});
