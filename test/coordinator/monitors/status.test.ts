import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connect, type Sql } from '../../../coordinator/database/connect.ts';
import { listenTo } from '../../../coordinator/database/listen.ts';
import { type MonitorHistory, statusOf, uptimeOf } from '../../../coordinator/monitors/status.ts';
import { markSeen } from '../../../coordinator/monitors/status-queries.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { createMaintenanceWindow } from '../../../shared/api/maintenance.ts';
import { createMonitor, getMonitorStatus, updateMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { isoText } from '../../../shared/base/time.ts';
import type { Outcome } from '../../../shared/checks/result.ts';
import { storeChecks, testResults } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';

/** The row of status that the database keeps of each monitor. */
describe('status', () => {
  let database: TestDatabase;
  let sql: Sql;
  let organisation: string;
  let monitor: string;

  const made = Date.parse('2026-11-01T00:00:00Z');
  const minute = (minutes: number): number => made + minutes * 60_000;

  beforeAll(async () => {
    database = await createDatabase();
    sql = connect(database.url, { name: 'test', connections: 4 });
  });
  afterAll(async () => {
    await sql.end();
    await database.drop();
  });

  beforeEach(async () => {
    ({ organisation } = await createTestOrganisation(sql));
    monitor = newId();
    await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, created_at)
    values (${monitor}, ${organisation}, 0, 'Checkout', 'https', 'https://Shop.example/', 60, ${new Date(made)})`;
  });

  const standing = async (): Promise<{ status: string; since: number } | undefined> => {
    const [row] = await sql<
      { status: string; since: number }[]
    >`select status, since from monitor_status where monitor_id = ${monitor}`;
    return row && { status: row.status, since: row.since };
  };

  const gap = (from: number, to: number | null) =>
    sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s) values (${monitor}, 'unknown', ${new Date(from)}, ${isoText(to)}, 60)`;
  const firstCheck = () => gap(made, minute(0.1));
  const outage = async (from: number): Promise<string> => {
    const id = newId();
    await sql`insert into incidents (id, organisation_id, monitor_id, started_at) values (${id}, ${organisation}, ${monitor}, ${new Date(from)})`;
    return id;
  };

  describe('the status of a monitor', () => {
    test('is pending until the first check, and up from the end of the unknown time', async () => {
      expect(await standing()).toEqual({ status: 'pending', since: made });
      await gap(made, null);
      expect(await standing()).toEqual({ status: 'pending', since: made });
      await sql`update ledger set ended_at = ${new Date(minute(1))} where monitor_id = ${monitor}`;
      expect(await standing()).toEqual({ status: 'up', since: minute(1) });
    });

    test('is read again only where times of an incident changed: of each one several answers follow', async () => {
      await firstCheck();
      const incident = await outage(minute(10));
      const words = async () =>
        (await sql`select words from monitor_status where monitor_id = ${monitor}`)[0]?.words;
      await sql`update monitor_status set words = 'of before' where monitor_id = ${monitor}`;
      await sql`update incidents set scope = 'some_continents' where id = ${incident}`;
      expect(await words()).toBe('of before');
      await sql`update incidents set confirmed_at = ${new Date(minute(11))} where id = ${incident}`;
      expect(await words()).toBe('checkout https://shop.example/');
    });

    test('follows an incident from the first failure to its end', async () => {
      await firstCheck();
      const incident = await outage(minute(10));
      expect(await standing()).toEqual({ status: 'verifying', since: minute(10) });
      await sql`update incidents set confirmed_at = ${new Date(minute(11))} where id = ${incident}`;
      expect(await standing()).toEqual({ status: 'down', since: minute(11) });
      await sql`update incidents set resolved_at = ${new Date(minute(20))} where id = ${incident}`;
      expect(await standing()).toEqual({ status: 'up', since: minute(20) });
    });

    test('is paused before all else, and pending again while it is unknown', async () => {
      await firstCheck();
      await outage(minute(10));
      await sql`update monitors set enabled = false, paused_at = ${new Date(minute(12))} where id = ${monitor}`;
      expect(await standing()).toEqual({ status: 'paused', since: minute(12) });
      await sql`update incidents set resolved_at = ${new Date(minute(12))} where monitor_id = ${monitor}`;
      await sql`update monitors set enabled = true, paused_at = null where id = ${monitor}`;
      await sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s) values (${monitor}, 'paused', ${new Date(minute(12))}, ${new Date(minute(30))}, 60)`;
      await gap(minute(30), null);
      expect(await standing()).toEqual({ status: 'pending', since: minute(30) });
      await sql`delete from ledger where monitor_id = ${monitor} and ended_at is null`;
      expect(await standing()).toEqual({ status: 'up', since: minute(30) });
    });

    test('is up since before a gap of our own, and since the end of one that an edit began', async () => {
      await firstCheck();
      await gap(minute(10), minute(12));
      expect(await standing()).toEqual({ status: 'up', since: minute(0.1) });
      await sql`update monitors set edited_at = ${new Date(minute(20))} where id = ${monitor}`;
      await gap(minute(20), minute(21));
      await gap(minute(30), minute(32));
      expect(await standing()).toEqual({ status: 'up', since: minute(21) });
    });

    test('stays the same when old stretches of the ledger are deleted', async () => {
      await firstCheck();
      await sql`delete from ledger where monitor_id = ${monitor}`;
      expect((await standing())?.status).toBe('up');
    });

    test('is up also when the first check came from a clock that is behind, and so closed nothing', async () => {
      await storeChecks(sql, monitor, [{ at: made }]);
      await markSeen(sql, testResults(), 0, 1_000);
      expect(await standing()).toEqual({ status: 'up', since: made });
    });

    test('is deleted with the monitor', async () => {
      await firstCheck();
      await sql`delete from monitors where id = ${monitor}`;
      expect(await standing()).toBe(undefined);
    });

    test('sees what two transactions change at once, whichever commits last', async () => {
      await firstCheck();
      const opened = Promise.withResolvers<void>();
      const renamed = Promise.withResolvers<void>();
      const engine = sql.begin(async (transaction) => {
        await transaction`insert into incidents (id, organisation_id, monitor_id, started_at) values (${newId()}, ${organisation}, ${monitor}, ${new Date(minute(5))})`;
        opened.resolve();
        await renamed.promise;
      });
      await opened.promise;
      const person = sql`update monitors set name = 'Till' where id = ${monitor}`.execute();
      const waiting = () =>
        sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(async () => (await waiting()).length).toBeGreaterThan(0);
      renamed.resolve();
      await Promise.all([engine, person]);
      const [row] = await sql<{ status: string; name_folded: string }[]>`
      select status, name_folded from monitor_status where monitor_id = ${monitor}`;
      expect(row).toEqual({ status: 'verifying', name_folded: 'till' });
    });
  });

  describe('the search index', () => {
    test('holds name, target and group, as they are now', async () => {
      const words = async () =>
        (
          await sql<
            { words: string }[]
          >`select words from monitor_status where monitor_id = ${monitor}`
        )[0]?.words;
      expect(await words()).toBe('checkout https://shop.example/');
      const group = newId();
      await sql`insert into groups (id, organisation_id, name, name_folded) values (${group}, ${organisation}, 'Shops', 'shops')`;
      await sql`update monitors set group_id = ${group} where id = ${monitor}`;
      expect(await words()).toBe('checkout https://shop.example/ shops');
      await sql`update groups set name = 'Stores', name_folded = 'stores' where id = ${group}`;
      expect(await words()).toBe('checkout https://shop.example/ stores');
      await sql`delete from groups where id = ${group}`;
      expect(await words()).toBe('checkout https://shop.example/');
    });
  });

  describe('a subscriber to the changes of an organisation', () => {
    test('is notified once of each transaction that changed it', async () => {
      const told: string[] = [];
      const { unlisten } = await listenTo(sql, 'changed', (of) => told.push(of), {
        log: { warn: () => undefined },
      });
      await firstCheck();
      await sql.begin(async (transaction) => {
        await transaction`update monitors set name = 'Till' where id = ${monitor}`;
        await transaction`insert into incidents (id, organisation_id, monitor_id, started_at) values (${newId()}, ${organisation}, ${monitor}, ${new Date(minute(5))})`;
      });
      await expect.poll(() => told).toEqual([organisation, organisation]);
      await unlisten();
    });
  });
});

describe('status operations', () => {
  const bench = gateBench();
  const day = 86_400_000;
  const minute = 60_000;
  /** A moment of today, so that the database's own clock and the gate's are of one time. */
  const now = Math.floor(Date.now() / 1000) * 1000;
  let house: TestOrganisation;
  let probe: string;

  beforeAll(async () => {
    bench.now = now;
    house = await createTestOrganisation(bench.sql);
    probe = await bench.addProbe('Europe');
    await makeResultDays(bench.sql, now - 8 * day, now + 2 * day);
  });

  const iso = (at: number): string => new Date(at).toISOString();

  /** A monitor that has been there for some days. */
  const monitor = async (
    days: number,
    input: object = { type: 'https', target: 'https://example.com' },
  ): Promise<string> => {
    const { id } = await bench.call(createMonitor, house.owner, input);
    await bench.sql`update monitors set created_at = ${iso(now - days * day)} where id = ${id}`;
    return id;
  };
  const status = (id: string, days?: number) =>
    bench.call(getMonitorStatus, house.viewer, {
      monitor_id: id,
      ...(days === undefined ? {} : { days }),
    });
  const result = (id: string, at: number, outcome: Outcome = 'ok') =>
    storeChecks(bench.sql, id, [{ probe, at, took_ms: 12, outcome }]);
  const incident = async (
    id: string,
    from: number,
    confirmed: number | null,
    to: number | null,
  ): Promise<void> => {
    await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
    values (${newId()}, ${house.organisation}, ${id}, ${iso(from)}, ${confirmed === null ? null : iso(confirmed)}, ${to === null ? null : iso(to)})`;
  };
  const ledger = async (
    id: string,
    kind: string,
    from: number,
    to: number | null,
  ): Promise<void> => {
    await bench.sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
    values (${id}, ${kind}, ${iso(from)}, ${to === null ? null : iso(to)}, 60)`;
  };

  describe('status', () => {
    test('is pending before the first result, and all of its time is unknown', async () => {
      const id = await monitor(1);
      expect(await status(id)).toEqual({
        monitor: id,
        muted: null,
        sides: null,
        warnings: [],
        status: 'pending',
        since: iso(now - day),
        last_checked_at: null,
        enabled: true,
        uptime: {
          days: 30,
          percent: null,
          down_seconds: 0,
          from: iso(now - day),
          to: iso(now),
          up_seconds: 0,
          maintenance_seconds: 0,
          unknown_seconds: 86_400,
          paused_seconds: 0,
        },
      });
    });

    test('is up while a usable result is young enough, and pending when none is', async () => {
      const id = await monitor(1);
      await result(id, now - 30_000);
      await result(id, now - 10_000, 'unknown');
      expect(await status(id)).toMatchObject({
        status: 'up',
        last_checked_at: iso(now - 30_000),
        since: iso(now - day),
      });
      const silent = await monitor(1);
      await result(silent, now - 10 * minute);
      // Two intervals of a minute and a time limit of ten seconds.
      expect(await status(silent)).toMatchObject({
        status: 'pending',
        since: iso(now - 10 * minute + 130_000),
        last_checked_at: iso(now - 10 * minute),
      });
    });

    test('is verifying, then down, then up again since the incident ended', async () => {
      const id = await monitor(1);
      await result(id, now - 10_000, 'fail');
      await incident(id, now - 60_000, null, null);
      expect(await status(id)).toMatchObject({ status: 'verifying', since: iso(now - 60_000) });
      await bench.sql`update incidents set confirmed_at = ${iso(now - 58_000)} where monitor_id = ${id}`;
      expect(await status(id)).toMatchObject({
        status: 'down',
        since: iso(now - 58_000),
        uptime: { down_seconds: 60 },
      });
      await bench.sql`update incidents set resolved_at = ${iso(now - 20_000)} where monitor_id = ${id}`;
      expect(await status(id)).toMatchObject({
        status: 'up',
        since: iso(now - 20_000),
        uptime: { down_seconds: 40 },
      });
    });

    describe('after unknown time is up since the same moment in the history and in the kept row', () => {
      const begun = now - day + minute;
      const gapAt = now - 60 * minute;
      const gapEnd = now - 50 * minute;
      const begin = async (): Promise<string> => {
        const id = await monitor(1);
        await result(id, now - 10_000);
        await ledger(id, 'unknown', now - day, begun);
        return id;
      };
      const expectSince = async (id: string, since: number): Promise<void> => {
        expect(await status(id)).toMatchObject({ status: 'up', since: iso(since) });
        const kept = await bench.sql<{ status: string; since: number }[]>`
          select status, since from monitor_status where monitor_id = ${id}`;
        expect(kept).toEqual([{ status: 'up', since }]);
      };

      test('of silence: since before it', async () => {
        const id = await begin();
        await ledger(id, 'unknown', gapAt, gapEnd);
        await expectSince(id, begun);
      });

      test('of an edit of what is checked: since its end', async () => {
        const id = await begin();
        await bench.sql`update monitors set edited_at = ${iso(gapAt)} where id = ${id}`;
        await ledger(id, 'unknown', gapAt, gapEnd);
        await ledger(id, 'unknown', now - 30 * minute, now - 20 * minute);
        await expectSince(id, gapEnd);
      });

      test('of an edit just made: since its end, which an edit of the name does not change', async () => {
        const id = await begin();
        const change = (input: object) =>
          bench.call(updateMonitor, house.owner, { monitor_id: id, ...input });
        await change({ name: 'Till' });
        await expectSince(id, begun);
        await change({ target: 'https://example.com/other' });
        const [line] = await bench.sql<{ at: number }[]>`
          update outbox set done_at = now() where payload->>'monitor' = ${id}
            and payload->>'what_is_checked_changed' = 'true' returning created_at as at`;
        const edited = line?.at ?? 0;
        await ledger(id, 'unknown', edited, edited + 500);
        await result(id, edited + 500);
        bench.now = edited + 1000;
        await expectSince(id, edited + 500);
        bench.now = now;
      });

      test('of a resume: since its end', async () => {
        const id = await begin();
        await ledger(id, 'paused', gapAt - minute, gapAt);
        await ledger(id, 'unknown', gapAt, gapEnd);
        await ledger(id, 'unknown', now - 30 * minute, now - 20 * minute);
        await expectSince(id, gapEnd);
      });

      test('in which an outage ended: since the end of the outage', async () => {
        const id = await begin();
        await incident(id, gapAt - minute, gapAt - minute, gapAt + minute);
        await ledger(id, 'unknown', gapAt, gapEnd);
        await expectSince(id, gapAt + minute);
      });
    });

    test('is paused from the moment of pausing', async () => {
      const id = await monitor(1);
      await bench.call(updateMonitor, house.owner, { monitor_id: id, enabled: false });
      bench.now = Date.now() + 1000;
      const paused = await status(id);
      expect(paused).toMatchObject({ status: 'paused', enabled: false });
      const [row] = await bench.sql<
        { paused_at: number }[]
      >`select paused_at from monitors where id = ${id}`;
      expect(Date.parse(paused.since ?? '')).toBe(row?.paused_at);
      bench.now = now;
    });

    test('of a heartbeat counts from its last ping to its deadline', async () => {
      const id = await monitor(1, {
        type: 'heartbeat',
        name: 'Job',
        interval_s: 600,
        config: { grace_s: 60 },
      });
      const ping = (at: number) =>
        bench.sql`insert into beats (id, monitor_id, kind, at, method, body, ear) values (${newId()}, ${id}, 'success', ${iso(at)}, 'GET', '', 'x')`;
      expect((await status(id)).status).toBe('pending');
      await ping(now - 12 * minute);
      expect(await status(id)).toMatchObject({
        status: 'pending',
        since: iso(now - minute),
        last_checked_at: iso(now - 12 * minute),
      });
      // That a probe found it in time says nothing beyond the ping.
      await result(id, now - 2 * minute);
      expect(await status(id)).toMatchObject({
        status: 'pending',
        since: iso(now - minute),
        last_checked_at: iso(now - 12 * minute),
      });
      await ping(now - 10 * minute);
      expect(await status(id)).toMatchObject({
        status: 'up',
        last_checked_at: iso(now - 10 * minute),
      });
    });

    test('is limited in days', async () => {
      const id = await monitor(1);
      for (const days of [0, 366, 'many', 1.5])
        expect(await bench.refusal(getMonitorStatus, house.owner, { monitor_id: id, days })).toBe(
          'faults',
        );
    });
  });

  describe('uptime', () => {
    test('leaves out pauses, maintenance and unknown time, in that order, and rounds down', async () => {
      const id = await monitor(10);
      await result(id, now - 1000);
      const at = (hours: number) => now - day + hours * 3_600_000;
      await ledger(id, 'paused', at(0), at(6));
      await ledger(id, 'unknown', at(5), at(7));
      await incident(id, at(6), at(6), at(9));
      await incident(id, at(12), null, at(20));
      // Of the last day: 6 h paused, 3 h down (the unknown hour is inside), 15 h up.
      expect((await status(id, 1)).uptime).toEqual({
        days: 1,
        percent: 83.3333,
        down_seconds: 3 * 3600,
        from: iso(now - day),
        to: iso(now),
        up_seconds: 15 * 3600,
        maintenance_seconds: 0,
        unknown_seconds: 0,
        paused_seconds: 6 * 3600,
      });
      bench.now = at(0) - day;
      const window = { starts_at: iso(at(8)), ends_at: iso(at(10)), monitors: [id] };
      await bench.call(createMaintenanceWindow, house.owner, window);
      bench.now = now;
      // The window covers one hour of the outage and one that was up.
      expect((await status(id, 1)).uptime).toMatchObject({
        days: 1,
        percent: 87.5,
        down_seconds: 2 * 3600,
        up_seconds: 14 * 3600,
        maintenance_seconds: 2 * 3600,
        unknown_seconds: 0,
        paused_seconds: 6 * 3600,
      });
    });

    test('is 100 only without any downtime', async () => {
      const id = await monitor(365);
      await result(id, now - 1000);
      expect((await status(id, 365)).uptime.percent).toBe(100);
      await incident(id, now - 5000, now - 5000, now - 4999);
      expect((await status(id, 365)).uptime).toMatchObject({
        days: 365,
        percent: 99.9999,
        down_seconds: 0.001,
        up_seconds: 365 * 86_400 - 0.001,
      });
    });

    test('of 365 days of a busy ledger equals the sum of its intervals', async () => {
      const id = await monitor(365);
      await result(id, now - 1000);
      await bench.sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
      select ${id}, 'unknown', ${iso(now - 365 * day)}::timestamptz + n * interval '12 hours', ${iso(now - 365 * day)}::timestamptz + n * interval '12 hours' + interval '5 minutes', 60
      from generate_series(0, 729) n`;
      await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
      select gen_random_uuid(), ${house.organisation}, ${id}, t, t, t + interval '7 minutes'
      from (select ${iso(now - 365 * day + 7_200_000)}::timestamptz + n * interval '1 day' as t from generate_series(0, 364) n) x`;
      bench.now = now - 364 * day;
      await bench.call(createMaintenanceWindow, house.owner, {
        starts_at: iso(now - 364 * day),
        ends_at: iso(now - 364 * day + 3_600_000),
        rrule: 'FREQ=DAILY',
        monitors: [id],
      });
      bench.now = now;
      await bench.sql`insert into maintenance_occurrences (window_id, began_at, ended_at)
      select window_id, began_at + n * interval '90 days', ended_at + n * interval '90 days' from maintenance_occurrences, generate_series(1, 3) n
      on conflict do nothing`;
      const { percent, down_seconds } = (await status(id, 365)).uptime;
      expect(down_seconds).toBe(365 * 7 * 60);
      // With nothing but up and down it would be 99.5138; what is unknown or under maintenance
      // counts neither way.
      expect(percent).toBeGreaterThan(99.48);
      expect(percent).toBeLessThan(99.5138);
    });
  });
});

describe('the time that the last ping of a scheduled job covers', () => {
  const hour = 3_600_000;
  const noon = Date.parse('2026-11-20T12:00Z');

  const nightly: MonitorHistory = {
    id: 'backup',
    kind: 'heartbeat',
    interval_s: 60,
    config: { schedule: '0 12 * * *', grace_s: 600 },
    created_at: noon - 48 * hour,
    paused_at: null,
    paused: [],
    cover: [],
    causedCover: [],
    down: [],
    unknown: [],
    incident: null,
    gap_since: null,
    resumed_at: null,
    last_result_at: null,
    last_beat_at: null,
    last_resolved_at: null,
    last_gap_ended_at: null,
    begins_anew_at: null,
  };

  const now = noon + 20 * hour;
  const window = { from: noon, to: now };

  test('lasts until the run after the one that it came for, as for its probes', () => {
    const early = { ...nightly, last_beat_at: noon - 100 };
    expect(statusOf(early, now)).toMatchObject({ status: 'up' });
    expect(uptimeOf(early, window)).toMatchObject({ unknown: 0, up: 20 * hour });
    const tooEarly = { ...nightly, last_beat_at: noon - 60_000 };
    expect(statusOf(tooEarly, now)).toMatchObject({ status: 'pending' });
    expect(uptimeOf(tooEarly, window)).toMatchObject({ unknown: 20 * hour - 600_000, up: 600_000 });
  });
});
