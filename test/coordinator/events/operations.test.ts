import { beforeAll, describe, expect, test } from 'vitest';
import { forgetEvents } from '../../../coordinator/events/queries.ts';
import { createEvent, listEvents } from '../../../shared/api/events.ts';
import { createGroup, deleteGroup, updateGroup } from '../../../shared/api/groups.ts';
import { acknowledgeIncident } from '../../../shared/api/incidents.ts';
import {
  createMaintenanceWindow,
  deleteMaintenanceWindow,
  updateMaintenanceWindow,
} from '../../../shared/api/maintenance.ts';
import { createMonitor, deleteMonitor, updateMonitor } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { getMonitorResults } from '../../../shared/api/results.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { eventually } from '../../support/eventually.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
const https = { type: 'https', target: 'https://till.example.com/' };
type Events = OutputOf<typeof listEvents>['items'];

beforeAll(() => bench.addProbe('Europe'));

/**
 * Everything after a place, asked for until there is so much: other tests write to other databases
 * of the same server, and an event is told only when every transaction there that began before it
 * is over.
 */
const follow = async (
  of: TestOrganisation,
  limit: number,
  from: string | null = null,
): Promise<{ readonly items: Events; readonly after: string }> => {
  const items: Events[number][] = [];
  let after = from;
  await eventually(async () => {
    const page = await bench.call(listEvents, of.viewer, {
      limit: 3,
      ...(after === null ? {} : { after }),
    });
    items.push(...page.items);
    after = page.after;
    return items.length >= limit && !page.more;
  });
  return { items, after: after ?? '' };
};
const words = (items: Events) => items.map(({ event, name }) => `${event} ${name}`);

describe('an event', () => {
  test('is listed in order, once: monitors, groups, windows and incidents', async () => {
    const of = await createTestOrganisation(bench.sql);
    const as = of.owner;
    const group = await bench.call(createGroup, as, { name: 'Shop' });
    await bench.call(updateGroup, as, { group_id: group.id, name: 'Shops' });
    const monitor = await bench.call(createMonitor, as, { ...https, name: 'Till' });
    await bench.call(updateMonitor, as, { monitor_id: monitor.id, name: 'Till 2', enabled: false });
    // What changes nothing is no news.
    await bench.call(updateMonitor, as, { monitor_id: monitor.id, name: 'Till 2' });
    await bench.call(updateMonitor, as, { monitor_id: monitor.id, enabled: true });
    const times = { starts_at: '2030-01-01T00:00Z', ends_at: '2030-01-01T01:00Z' };
    const window = await bench.call(createMaintenanceWindow, as, {
      ...times,
      name: 'Release',
      monitors: [monitor.id],
    });
    await bench.call(updateMaintenanceWindow, as, {
      window_id: window.id,
      name: 'Releases',
      ends_at: '2030-01-01T02:00Z',
    });
    await bench.call(deleteMaintenanceWindow, as, { window_id: window.id });
    const incident = newId();
    await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at) values (${incident}, ${of.organisation}, ${monitor.id}, now())`;
    await bench.sql`update incidents set confirmed_at = now() where id = ${incident}`;
    await bench.call(acknowledgeIncident, as, { incident_id: incident });
    await bench.sql`update incidents set resolved_at = now() where id = ${incident}`;
    await bench.call(deleteMonitor, as, { monitor_id: monitor.id });
    await bench.call(deleteGroup, as, { group_id: group.id });
    const told = [
      'group.created Shop',
      'group.changed Shops',
      'monitor.created Till',
      'monitor.changed Till 2',
      'monitor.paused Till 2',
      'monitor.resumed Till 2',
      'maintenance.created Release',
      'maintenance.changed Releases',
      'maintenance.deleted Releases',
      'incident.opened Till 2',
      'incident.confirmed Till 2',
      'incident.acknowledged Till 2',
      'incident.resolved Till 2',
      'monitor.deleted Till 2',
      'group.deleted Shops',
    ];
    const { items, after } = await follow(of, told.length);
    expect(words(items)).toEqual(told);
    expect(new Set(items.map(({ id }) => id)).size).toBe(told.length);
    expect(items[9]).toMatchObject({ monitor: monitor.id, incident, group: null, window: null });
    expect(items[6]).toMatchObject({ monitor: null, window: window.id });
    // Nothing new, and from there on only what is.
    expect(await bench.call(listEvents, of.viewer, { after })).toEqual({
      items: [],
      after,
      more: false,
    });
    await bench.call(createGroup, as, { name: 'Later' });
    expect(words((await follow(of, 1, after)).items)).toEqual(['group.created Later']);
    const own = await bench.call(listEvents, of.viewer, { monitor: monitor.id, limit: 200 });
    expect(
      own.items.map(({ event }) => event).filter((event) => event.startsWith('group')),
    ).toEqual([]);
    expect(own.items).toHaveLength(9);
  });

  test('is not skipped when a transaction that began to write first commits last', async () => {
    const of = await createTestOrganisation(bench.sql);
    const written = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const add = (name: string) =>
      bench.sql`insert into groups (id, organisation_id, name, name_folded) values (${newId()}, ${of.organisation}, ${name}, ${name.toLowerCase()})`;
    const slow = bench.sql.begin(async (transaction) => {
      await transaction`insert into groups (id, organisation_id, name, name_folded) values (${newId()}, ${of.organisation}, 'First', 'first')`;
      written.resolve();
      await released.promise;
    });
    await written.promise;
    await add('Second');
    const early = await bench.call(listEvents, of.viewer);
    // Whoever were told of the second now would never hear of the first.
    expect(early).toMatchObject({ items: [], more: false });
    released.resolve();
    await slow;
    await add('Third');
    const { items } = await follow(of, 3, early.after);
    expect(words(items)).toEqual([
      'group.created First',
      'group.created Second',
      'group.created Third',
    ]);
  });

  test('of one transaction stays in its order over several pages', async () => {
    const of = await createTestOrganisation(bench.sql);
    const names = Array.from({ length: 40 }, (_, nth) => `group ${nth + 10}`);
    await bench.sql`insert into groups (id, organisation_id, name, name_folded)
      select gen_random_uuid(), ${of.organisation}, name, name from unnest(${names}::text[]) with ordinality as t (name, nth) order by nth`;
    expect((await follow(of, names.length)).items.map(({ name }) => name)).toEqual(names);
  });

  test('is neither lost nor repeated while many write at once and a client follows', async () => {
    const of = await createTestOrganisation(bench.sql);
    const seen: string[] = [];
    let after: string | null = null;
    let writing = true;
    const reading = (async () => {
      while (writing) {
        const page: OutputOf<typeof listEvents> = await bench.call(
          listEvents,
          of.viewer,
          after === null ? {} : { after },
        );
        seen.push(...page.items.map(({ name }) => name ?? ''));
        after = page.after;
      }
    })();
    const names = Array.from({ length: 60 }, (_, nth) => `group ${nth}`);
    await Promise.all(
      names.map((name, nth) =>
        bench.sql.begin(async (transaction) => {
          // Who begins to write early ends late.
          await transaction`select pg_current_xact_id(), pg_sleep(${(nth % 7) / 200})`;
          await transaction`insert into groups (id, organisation_id, name, name_folded) values (${newId()}, ${of.organisation}, ${name}, ${name})`;
        }),
      ),
    );
    writing = false;
    await reading;
    const rest = await follow(of, names.length - seen.length, after);
    seen.push(...rest.items.map(({ name }) => name ?? ''));
    expect(seen.toSorted()).toEqual(names.toSorted());
  });

  test('a foreign or invalid cursor is refused', async () => {
    const [of, other] = [
      await createTestOrganisation(bench.sql),
      await createTestOrganisation(bench.sql),
    ];
    await bench.call(createGroup, of.owner, { name: 'Ours' });
    const { after } = await follow(of, 1);
    for (const wrong of [after.slice(0, -2), 'x', ''])
      expect(await bench.refusal(listEvents, of.owner, { after: wrong })).toBe('faults');
    expect(await bench.refusal(listEvents, other.owner, { after })).toBe('faults');
    expect(await bench.refusal(listEvents, of.owner, { after, monitor: newId() })).toBe('faults');
    // A restored database is another one, whose transactions are counted anew.
    await bench.sql`update installation set id = gen_random_uuid()`;
    await expect(bench.call(listEvents, of.owner, { after })).rejects.toMatchObject({
      faults: [{ loc: ['query', 'after'] }],
    });
    expect((await follow(of, 1)).items).toHaveLength(1);
  });

  test('is deleted after its retention, and with its organisation', async () => {
    const of = await createTestOrganisation(bench.sql);
    for (const name of ['a', 'b', 'c']) await bench.call(createGroup, of.owner, { name });
    await bench.sql`update events set at = now() - interval '91 days' where organisation_id = ${of.organisation} and name <> 'c'`;
    const before = Date.now() - 90 * 86_400_000;
    while (await forgetEvents(bench.sql, before, 1));
    expect(words((await follow(of, 1)).items)).toEqual(['group.created c']);
    await bench.sql`delete from organisations where id = ${of.organisation}`;
    expect(
      await bench.sql`select 1 from events where organisation_id = ${of.organisation}`,
    ).toHaveLength(0);
  });

  test('of a deploy is in the charts of its monitors', async () => {
    const of = await createTestOrganisation(bench.sql);
    const other = await createTestOrganisation(bench.sql);
    const till = await bench.call(createMonitor, of.owner, { ...https, name: 'Till' });
    const shop = await bench.call(createMonitor, of.owner, { ...https, name: 'Shop' });
    const own = await bench.call(createEvent, of.member, { name: ' Till 2 ', monitor: till.id });
    const all = await bench.call(createEvent, of.member, { name: 'Database 17' });
    expect(own).toMatchObject({ event: 'deploy', name: 'Till 2', monitor: till.id });
    const { items } = await follow(of, 4);
    expect(items.slice(2)).toEqual([own, all]);
    const deploysOf = async (monitor_id: string, as = of.viewer) => {
      const { deploys } = await bench.call(getMonitorResults, as, { monitor_id });
      return deploys.map(({ name }) => name);
    };
    bench.now = Date.parse(all.at) + 1_000;
    expect(await deploysOf(till.id)).toEqual(['Database 17', 'Till 2']);
    expect(await deploysOf(shop.id)).toEqual(['Database 17']);

    expect(
      await bench.refusal(createEvent, other.owner, { name: 'Till 3', monitor: till.id }),
    ).toBe('monitor_not_found');
    expect(await bench.refusal(createEvent, of.owner, { name: ' ' })).toBe('name_invalid');
    expect(await deploysOf(till.id)).toEqual(['Database 17', 'Till 2']);
  });
});
