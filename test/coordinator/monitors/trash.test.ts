import { beforeAll, describe, expect, test } from 'vitest';
import type { Caller } from '../../../coordinator/gate/caller.ts';
import {
  changeMonitors,
  getPingAddress,
  listDashboard,
  purgeMonitor,
  undoChange,
} from '../../../coordinator/monitors/contract.ts';
import { purgeOld, purgeOrganisation } from '../../../coordinator/monitors/trash-queries.ts';
import { exportPage } from '../../../coordinator/offboarding/export.ts';
import { createChannel } from '../../../shared/api/channels.ts';
import { createGroup, deleteGroup } from '../../../shared/api/groups.ts';
import { listIncidents } from '../../../shared/api/incidents.ts';
import { createMaintenanceWindow } from '../../../shared/api/maintenance.ts';
import {
  createMonitor,
  deleteMonitor,
  getMonitor,
  getMonitorLedger,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import { addStatusPageMonitor, createStatusPage } from '../../../shared/api/status-pages.ts';
import { listDeletedMonitors, restoreMonitor } from '../../../shared/api/trash.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { eventually } from '../../support/eventually.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;
let other: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { name: 'Shop' });
  other = await createTestOrganisation(bench.sql, { name: 'Other' });
  await bench.addProbe('Europe');
  await bench.addProbe('Asia');
});

const create = async (input: object = {}): Promise<string> =>
  (
    await bench.call(createMonitor, house.member, {
      type: 'https',
      target: 'https://shop.example/',
      ...input,
    })
  ).id;

const discard = (monitor_id: string) => bench.call(deleteMonitor, house.member, { monitor_id });

/** An incident that is over, with evidence and a note. */
const addIncident = async (monitor: string, resolved = true): Promise<string> => {
  const id = newId();
  await bench.sql`
    insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
    values (${id}, ${house.organisation}, ${monitor}, now() - interval '2 hours 0.000001 seconds',
      now() - interval '1 hour', ${resolved ? bench.sql`now() - interval '30 minutes'` : null})`;
  await bench.sql`insert into incident_evidence (incident_id, part, continent, probe, at, outcome,
    took_ms) values (${id}, 'seen', 'Asia', 'Singapore', now(), 1, 12.5)`;
  await bench.sql`
    insert into incident_notes (id, incident_id, organisation_id, written_by, written_at, text)
    values (${newId()}, ${id}, ${house.organisation}, ${house.member.user}, now(), 'a cable')`;
  return id;
};

/** Every row that refers to the monitor, in each table that goes with it. */
const rowsOf = async (monitor: string): Promise<unknown> => {
  const own = await bench.sql<{ table: string }[]>`
    select c.conrelid::regclass::text as table from pg_constraint c
    where c.contype = 'f' and c.confrelid = 'monitors'::regclass order by 1`;
  const read = (table: string, where: string) =>
    bench.sql.unsafe(`select to_jsonb(t) as row from ${table} t where ${where} order by 1`, [
      monitor,
    ]);
  const under = 'incident_id in (select id from incidents where monitor_id = $1)';
  return [
    await read('monitors', 'id = $1'),
    ...(await Promise.all(own.map(({ table }) => read(table, 'monitor_id = $1')))),
    await read('incident_evidence', under),
    await read('incident_notes', under),
  ];
};

describe('a deleted monitor', () => {
  test('is restored with all its rows, to its pages, windows, channels and group', async () => {
    const group = (await bench.call(createGroup, house.member, { name: 'Shop' })).id;
    const id = await create({
      group,
      external_id: 'shop/1',
      tags: ['night'],
      config: { bearer_token: 'hunter2' },
    });
    await addIncident(id);
    const page = await bench.call(createStatusPage, house.owner, { name: 'Status', slug: 'shop' });
    await bench.call(addStatusPageMonitor, house.owner, {
      page_id: page.id,
      monitor: id,
      display_name: 'The shop',
    });
    await bench.call(createMaintenanceWindow, house.owner, {
      starts_at: '2099-01-01T00:00',
      ends_at: '2099-01-01T01:00',
      monitors: [id],
    });
    await bench.call(createChannel, house.owner, {
      kind: 'webhook',
      name: 'Hook',
      config: { url: 'https://hook.example/' },
      try: false,
      monitors: [id],
    });
    const before = await rowsOf(id);
    await discard(id);
    expect(await bench.refusal(getMonitor, house.owner, { monitor_id: id })).toBe(
      'monitor_not_found',
    );
    const text = JSON.stringify(await bench.sql`select row from deleted_rows`);
    expect(text).not.toContain('hunter2');
    expect(text).toContain('a cable');
    const restored = await bench.call(restoreMonitor, house.member, { monitor_id: id });
    expect(restored).toMatchObject({ id, group, enabled: true, config: { bearer_token: '***' } });
    // The time in the trash is one more row of the ledger: paused.
    const after = JSON.parse(JSON.stringify(await rowsOf(id)));
    const added = JSON.stringify(after).match(/"kind":"paused"/g);
    expect(added).toHaveLength(1);
    const plain = (rows: unknown) =>
      JSON.parse(JSON.stringify(rows)).map((table: { row: { kind?: string; seen?: boolean } }[]) =>
        table.filter(({ row }) => row.kind !== 'paused' && row.seen === undefined),
      );
    expect(plain(after)).toEqual(plain(before));
    expect(await bench.sql`select from deleted_monitors`).toHaveLength(0);
    expect(await bench.sql`select from deleted_rows`).toHaveLength(0);
  });

  test('is in no list, count or export of monitors, and in the trash', async () => {
    const id = await create({ name: 'Gone' });
    await addIncident(id);
    const before = (await bench.call(listDashboard, house.owner)).counts.all;
    await discard(id);
    expect((await bench.call(listDashboard, house.owner)).counts.all).toBe(before - 1);
    expect(
      (await bench.call(listIncidents, house.owner)).items.filter(({ monitor }) => monitor === id),
    ).toEqual([]);
    const { items } = await bench.call(listDeletedMonitors, house.viewer);
    expect(items[0]).toMatchObject({ id, name: 'Gone', deleted_by: expect.any(String) });
    expect(
      Date.parse(items[0]?.deleted_for_ever_at ?? '') - Date.parse(items[0]?.deleted_at ?? ''),
    ).toBe(7 * 86_400_000);
    const exportOf = (part: 'monitors' | 'deleted_monitors') =>
      exportPage(bench.sql, bench.results, house.organisation, part, {
        after: 0,
        limit: 100,
        now: bench.now,
      });
    const monitors = await exportOf('monitors');
    expect(JSON.stringify(monitors)).not.toContain(id);
    const [exported] = await exportOf('deleted_monitors');
    expect(exported?.row).toMatchObject({ id, name: 'Gone' });
    expect(JSON.stringify(exported)).toContain('a cable');
    await bench.call(restoreMonitor, house.member, { monitor_id: id });
  });

  test('counts as paused meanwhile, and its open incident ended when it was deleted', async () => {
    const id = await create({ name: 'Was down' });
    const incident = await addIncident(id, false);
    await bench.sql`update monitors set created_at = now() - interval '3 hours' where id = ${id}`;
    await discard(id);
    await bench.sql`update deleted_monitors set deleted_at = deleted_at - interval '50 minutes'`;
    await bench.call(restoreMonitor, house.member, { monitor_id: id });
    const [row] = await bench.sql`select resolved_at, note from incidents where id = ${incident}`;
    expect(row).toMatchObject({ resolved_at: expect.any(Number), note: 'the monitor was deleted' });
    const ledger = await bench.call(getMonitorLedger, house.owner, { monitor_id: id, days: 1 });
    expect(ledger.paused_seconds).toBeCloseTo(3_000, -2);
    expect(ledger.down_seconds).toBeCloseTo(70 * 60, -2);
    const [line] = await bench.sql<{ payload: Record<string, unknown> }[]>`
      select payload from outbox where topic = 'monitor' and payload ->> 'monitor' = ${id}
      order by id desc limit 1`;
    expect(line?.payload).toMatchObject({ change: 'restored', restored: { is_paused: false } });
  });

  test('has no active warning: the next check that sees it begins another one', async () => {
    const id = await create({ name: 'Was slow' });
    const warn = () => bench.sql`
      insert into warnings (id, organisation_id, monitor_id, code, details, began_at, confirmed_at)
      values (gen_random_uuid(), ${house.organisation}, ${id}, 'slow', '{}',
        now() - interval '1 hour', now() - interval '1 hour')`;
    await warn();
    await discard(id);
    const [gone] =
      await bench.sql`select deleted_at from deleted_monitors where monitor_id = ${id}`;
    const restored = await bench.call(restoreMonitor, house.member, { monitor_id: id });
    expect(restored.warnings).toEqual([]);
    expect(await bench.sql`select ended_at from warnings where monitor_id = ${id}`).toEqual([
      { ended_at: gone?.deleted_at },
    ]);
    await warn();
  });

  test('that was paused stays paused', async () => {
    const id = await create({ name: 'Paused' });
    await bench.call(updateMonitor, house.member, { monitor_id: id, enabled: false });
    await discard(id);
    expect(await bench.call(restoreMonitor, house.member, { monitor_id: id })).toMatchObject({
      enabled: false,
      status: 'paused',
    });
  });

  test('has its events once: it is listed as created again, without its past', async () => {
    const id = await create({ name: 'Events' });
    await addIncident(id);
    const told = async () =>
      (
        await bench.sql<{ what: string }[]>`
          select what from events where monitor_id = ${id} order by id`
      ).map(({ what }) => what);
    const before = await told();
    await discard(id);
    await bench.call(restoreMonitor, house.member, { monitor_id: id });
    expect(await told()).toEqual([...before, 'monitor.deleted', 'monitor.created']);
  });

  test('of a job has the same address again; meanwhile its pings have an unknown key', async () => {
    const id = await create({ type: 'heartbeat', name: 'Job', target: '', interval_s: 300 });
    await bench.sql`insert into beat_states (monitor_id, state)
      values (${id}, '{"v": 1, "paused": false}')`;
    const { address } = await bench.call(getPingAddress, house.owner, { monitor_id: id });
    await discard(id);
    expect(await bench.sql`select from beat_tokens where monitor_id = ${id}`).toHaveLength(0);
    // Whoever replaces the keys of secrets reaches those in the trash too.
    await bench.secrets.rotate(bench.sql);
    await bench.call(restoreMonitor, house.member, { monitor_id: id });
    expect(await bench.call(getPingAddress, house.owner, { monitor_id: id })).toMatchObject({
      address,
    });
    // Made, in the trash, restored: each is told to those who take pings.
    expect(
      await bench.sql`select from outbox where topic = 'ping_key' and payload ->> 'key' in (
        select encode(fingerprint, 'hex') from beat_tokens where monitor_id = ${id})`,
    ).toHaveLength(3);
    // The silence meanwhile does not count against the job.
    expect(
      await bench.sql`select state -> 'paused' as paused from beat_states
      where monitor_id = ${id}`,
    ).toEqual([{ paused: true }]);
  });

  test('is restored without what was deleted since', async () => {
    const group = (await bench.call(createGroup, house.member, { name: 'Short-lived' })).id;
    const id = await create({ name: 'Alone', group });
    await discard(id);
    await bench.call(deleteGroup, house.owner, { group_id: group });
    expect(await bench.call(restoreMonitor, house.member, { monitor_id: id })).toMatchObject({
      group: null,
    });
    expect(
      await bench.sql`select from group_memberships where monitor_id = ${id} and ended_at is null`,
    ).toHaveLength(0);
  });

  test('stays in the trash where its external id is taken or the plan is full', async () => {
    const id = await create({ name: 'First', external_id: 'shop/taken' });
    await discard(id);
    const second = await create({ name: 'Second', external_id: 'shop/taken' });
    const restore = () => bench.refusal(restoreMonitor, house.member, { monitor_id: id });
    expect(await restore()).toBe('external_id_taken');
    await bench.call(updateMonitor, house.member, { monitor_id: second, external_id: 'shop/x' });
    await bench.sql`insert into monitors (id, organisation_id, partition, name, type, target,
      interval_s) select gen_random_uuid(), ${house.organisation}, 0, 'n', 'https', 'https://x/',
      3600 from generate_series(1, 20)`;
    await bench.sql`update organisations set plan = 'free' where id = ${house.organisation}`;
    expect(await restore()).toBe('plan_limit_monitors');
    await bench.sql`update organisations set plan = 'self_hosted' where id = ${house.organisation}`;
    await bench.sql`delete from monitors where name = 'n'`;
    expect(await restore()).toBe('taken');
  });

  test('is deleted permanently after 7 days, or on request; then its results are deleted', async () => {
    const [old, young] = [await create({ name: 'Old' }), await create({ name: 'Young' })];
    const key = async (id: string) =>
      (await bench.sql<{ key: number }[]>`select key from monitors where id = ${id}`)[0]?.key ?? 0;
    const keys = [await key(old), await key(young)];
    for (const monitor_id of [old, young]) await discard(monitor_id);
    await bench.sql`update deleted_monitors set deleted_at = now() - interval '8 days'
      where monitor_id = ${old}`;
    const week = Date.now() - 7 * 86_400_000;
    expect(await purgeOld(bench.sql, week, 10)).toBe(1);
    expect(await bench.refusal(restoreMonitor, house.member, { monitor_id: old })).toBe(
      'monitor_not_found',
    );
    await bench.call(purgeMonitor, house.member, { monitor_id: young });
    expect(
      await bench.sql`select monitor_key as key from forgotten_monitors
        where monitor_key = any(${keys}) order by 1`,
    ).toEqual(keys.map((each) => ({ key: each })));
    expect(
      await bench.sql`select from deleted_rows where monitor_id in (${old}, ${young})`,
    ).toHaveLength(0);
  });

  test('is deleted with its organisation, and its results with it', async () => {
    const id = await create({ name: 'Last' });
    await discard(id);
    await bench.sql`update organisations set ends_at = now() - interval '1 minute'
      where id = ${other.organisation}`;
    // Of another organisation that ends, nothing of this one goes.
    const at = Date.now();
    await bench.sql.begin((sql) => purgeOrganisation(sql, other.organisation, 10));
    expect((await bench.call(listDeletedMonitors, house.viewer)).items[0]?.id).toBe(id);
    await bench.sql.begin((sql) => purgeOrganisation(sql, house.organisation, 10));
    expect((await bench.call(listDeletedMonitors, house.viewer)).items).toEqual([]);
    expect(
      await bench.sql`select from forgotten_monitors where monitor_id = ${id}
        and forgotten_at >= ${new Date(at - 60_000)}`,
    ).toHaveLength(1);
    await bench.sql`update organisations set ends_at = null where id = ${other.organisation}`;
  });

  test('is deleted for ever or restored whole, when both are asked for at once', async () => {
    const id = await create({ name: 'Late' });
    await addIncident(id);
    await discard(id);
    const restored = await bench.sql.begin(async (sql) => {
      expect(await purgeOld(sql, Date.now() + 60_000, 100)).toBeGreaterThan(0);
      const restoring = bench.refusal(restoreMonitor, house.member, { monitor_id: id });
      const waiting = () =>
        bench.sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await eventually(async () => (await waiting()).length > 0);
      return { restoring };
    });
    expect(await restored.restoring).toBe('monitor_not_found');
    expect(await bench.refusal(getMonitor, house.member, { monitor_id: id })).toBe(
      'monitor_not_found',
    );
  });

  test('of several at once, and of one, is restored by the undo of its author', async () => {
    const onPage: Caller = { ...house.member.caller, is: 'session' };
    const ids = [await create({ name: 'One' }), await create({ name: 'Two' })];
    const change = { monitors: ids, change: 'delete' };
    expect(await bench.call(changeMonitors, onPage, change)).toEqual({ changed: 2 });
    expect(await bench.refusal(changeMonitors, onPage, change)).toBe('monitor_not_found');
    expect(await bench.refusal(undoChange, house.admin)).toBe('nothing_to_undo');
    expect(await bench.call(undoChange, onPage)).toEqual({ changed: 2 });
    await bench.call(deleteMonitor, onPage, { monitor_id: ids[0] });
    expect(await bench.call(undoChange, onPage)).toEqual({ changed: 1 });
    await bench.call(changeMonitors, onPage, { monitors: ids, change: 'mute' });
    // What a program of theirs deleted is not what they undo.
    await discard(ids[0] ?? '');
    expect(await bench.call(undoChange, onPage)).toEqual({ changed: 1 });
    expect(await bench.refusal(getMonitor, house.member, { monitor_id: ids[0] })).toBe(
      'monitor_not_found',
    );
    await bench.call(restoreMonitor, house.member, { monitor_id: ids[0] });
    for (const monitor_id of ids)
      expect(await bench.call(getMonitor, house.member, { monitor_id })).toMatchObject({
        enabled: true,
      });
  });
});

test('every table of a monitor has only keys that restoring knows: they cascade, or clear', async () => {
  expect(
    await bench.sql`
      with recursive tree as (
        select 'monitors'::regclass::oid as source
        union select k.conrelid from tree t join pg_constraint k on k.confrelid = t.source
          and k.contype = 'f' and k.confdeltype = 'c')
      select k.conname from tree join pg_constraint k on k.conrelid = source
      where k.contype = 'f' and k.confdeltype not in ('c', 'n')`,
  ).toEqual([]);
});
