import { expect, test } from 'vitest';
import { lastDowns } from '../../../coordinator/incidents/writes.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation } from '../../support/people.ts';

/** What a coordinator that takes over a partition knows of outages that are over (rule 3). */

const bench = gateBench();

type Dates = { readonly started: string; readonly confirmed?: string; readonly resolved?: string };

test('of each monitor the confirmed outage that ended last, of the last days; none of a heartbeat, or of another partition', async () => {
  const { sql } = bench;
  const { organisation } = await createTestOrganisation(sql);
  const monitor = async (name: string, type: 'https' | 'heartbeat', partition: number, incidents: readonly Dates[]) => {
    const id = newId();
    await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
      values (${id}, ${organisation}, ${partition}, ${name}, ${type}, ${type === 'https' ? 'https://shop.example' : ''}, 60)`;
    for (const { started, confirmed, resolved } of incidents)
      await sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_probe, seen_continent,
          confirmed_probe, confirmed_continent, cause)
        values (${newId()}, ${organisation}, ${id}, ${started}, ${confirmed ?? null}, ${resolved ?? null}, 'Oslo', 'Europe',
          ${confirmed === undefined ? null : 'Tokyo'}, ${confirmed === undefined ? null : 'Asia'}, '{"class":"probe_internal","params":{}}')`;
    return id;
  };
  const outage = { started: '2026-11-20T10:00:00Z', confirmed: '2026-11-20T10:00:01Z', resolved: '2026-11-20T10:20:00Z' };
  const before = { started: '2026-11-20T09:00:00Z', confirmed: '2026-11-20T09:00:01Z', resolved: '2026-11-20T09:20:00Z' };
  const lonely = { started: '2026-11-20T11:00:00Z', resolved: '2026-11-20T11:20:00Z' };
  const old = { started: '2026-11-01T10:00:00Z', confirmed: '2026-11-01T10:00:01Z', resolved: '2026-11-01T10:20:00Z' };
  const shop = await monitor('shop', 'https', 7, [before, outage, lonely]);
  const failing = await monitor('failing', 'https', 7, [outage, { started: '2026-11-20T12:00:00Z', confirmed: '2026-11-20T12:00:01Z' }]);
  await monitor('old', 'https', 7, [old]);
  await monitor('well', 'https', 7, []);
  await monitor('job', 'heartbeat', 7, [outage]);
  await monitor('elsewhere', 'https', 8, [outage]);
  const last = { from: Date.parse(outage.started), to: Date.parse(outage.resolved) };
  expect(await lastDowns(sql, 7, Date.parse('2026-11-15T00:00:00Z'))).toEqual(
    new Map([
      [shop, last],
      [failing, last],
    ]),
  );
});
