import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { actors } from '../../../coordinator/actors.ts';
import { type App, createApp } from '../../../coordinator/app.ts';
import { readConfig } from '../../../coordinator/config.ts';
import { anchorsOf } from '../../../coordinator/documentation/markdown.ts';
import { pageNames, pageText } from '../../../coordinator/documentation/page-files.ts';
import { emptyUnit, type Unit } from '../../../coordinator/engine/commit.ts';
import { createSeen } from '../../../coordinator/health/gauges.ts';
import { createLive } from '../../../coordinator/health/metrics.ts';
import { createLog } from '../../../shared/base/log.ts';
import { contractFaults } from '../../support/contract.ts';
import { eventually } from '../../support/eventually.ts';
import {
  createTestOrganisation,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';
import { debianProgram, runProgram } from '../../support/processes.ts';
import { createAccount, environmentOf, ownDatabase } from '../../support/services.ts';
import { monitoringFolder, rulesAndPanels } from './rules.ts';

describe('metrics', async () => {
  const promtool = await debianProgram('promtool', ['prometheus']);

  /** The sum of all rows of a figure, of those with these labels. */
  const figureOf = (text: string, name: string, labels = ''): number | undefined => {
    const rows = text
      .split('\n')
      .filter((line) => new RegExp(`^${name}(?:\\{[^}]*${labels}[^}]*\\})? `).test(line));
    return rows.length === 0
      ? undefined
      : rows.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  };

  const unit = (change: Partial<Unit>): Unit => ({
    ...emptyUnit({ partition: 0, epoch: 1 }),
    ...change,
  });

  const batch = (ok: number, fail: number, oldest: number) => ({
    arrival: 0,
    partition: 0,
    probe: 1,
    data: new Uint8Array(),
    counts: { ok, fail, unknown: 0 },
    oldest,
    signature: null,
    digests: null,
  });

  describe('what is counted as it happens', () => {
    test('results by outcome, and the age of the oldest of each commit', async () => {
      const registry = new Registry();
      createLive(registry).committed(
        [
          unit({ journal: [batch(1, 2, 1_000)] }),
          unit({ journal: [batch(7, 0, 2_000), batch(0, 0, Number.POSITIVE_INFINITY)] }),
        ],
        20,
        5_000,
      );
      const text = await registry.metrics();
      expect(figureOf(text, 'antipode_results_committed_total', 'outcome="ok"')).toBe(8);
      expect(figureOf(text, 'antipode_results_committed_total', 'outcome="fail"')).toBe(2);
      expect(figureOf(text, 'antipode_result_age_seconds_sum')).toBe(7);
      expect(figureOf(text, 'antipode_commit_seconds_sum')).toBe(0.02);
    });

    test('messages by channel and answer, their delay, checkpoints, and stalled partitions', async () => {
      const registry = new Registry();
      const live = createLive(registry);
      live.told('slack', 'retry', 1_000);
      live.told('slack', 'delivered', 3_000);
      live.answered('/api/v1/monitors/:monitor_id', 404, 12);
      live.checkpointed(40);
      live.gaveUp();
      live.took(4);
      const text = await registry.metrics();
      expect(figureOf(text, 'antipode_alerts_total', 'channel="slack"')).toBe(2);
      expect(figureOf(text, 'antipode_alert_delay_seconds_sum')).toBe(3);
      expect(figureOf(text, 'antipode_http_request_seconds_count', 'code="4xx"')).toBe(1);
      expect(figureOf(text, 'antipode_checkpoint_seconds_sum')).toBe(0.04);
      expect(figureOf(text, 'antipode_partitions_given_up_total')).toBe(1);
      expect(figureOf(text, 'antipode_partitions_taken_total')).toBe(4);
    });

    test('rechecks by outcome', async () => {
      const registry = new Registry();
      const { asked } = createLive(registry);
      asked('now', 'asked');
      asked('now', 'no_probe');
      asked('sample', 'over_budget');
      const text = await registry.metrics();
      expect(figureOf(text, 'antipode_looks_total', 'why="now",outcome="no_probe"')).toBe(1);
      expect(figureOf(text, 'antipode_looks_total', 'outcome="over_budget"')).toBe(1);
      expect(figureOf(text, 'antipode_looks_total')).toBe(3);
    });

    test('gauges of the past disappear', async () => {
      const registry = new Registry();
      const show = createSeen(registry);
      const seen = {
        isReady: true,
        database: true,
        bus: true,
        streams: true,
        partitions: 32,
        resting: false,
        actors: [],
        onBus: undefined,
        disk: undefined,
        certificates: [],
        stored: [],
      };
      const checks = [
        { kind: 'https', outcome: 'ok', count: 40 },
        { kind: 'https', outcome: 'fail', count: 2 },
      ];
      const said = {
        waiting: 7,
        bytes: 700,
        dropped: 5,
        refused: 4,
        clockOffsetMs: -250,
        inFlight: 3,
        lateMs: 12,
        checks,
      };
      show({
        ...seen,
        resting: true,
        actors: [{ name: 'notifier', running: 1, waiting: 2, restarts: 3 }],
        onBus: {
          streamStates: [{ stream: 'RESULTS', bytes: 1, messages: 1, missing: 2 }],
          waiting: [{ partition: 7, messages: 12 }],
          disks: [{ server: 'nats-1', bytes: 80, limit: 100 }],
        },
        disk: { size: 100, free: 20 },
        certificates: [{ of: 'web', server: 'antipode.example:443', endsAt: 5_000 }],
        probes: [
          {
            name: 'Oslo',
            of: 'public',
            continent: 'Europe',
            place: 'Europe/',
            state: 'well',
            said,
          },
        ],
        stored: [{ name: 'notices', label: 'probe_twice', value: 1 }],
      });
      const before = await registry.metrics();
      expect(figureOf(before, 'antipode_resting')).toBe(1);
      expect(figureOf(before, 'antipode_actor_restarts_total', 'actor="notifier"')).toBe(3);
      expect(figureOf(before, 'antipode_actor_waiting', 'actor="notifier"')).toBe(2);
      expect(figureOf(before, 'antipode_probe_clock_offset_seconds', 'probe="Oslo"')).toBe(-0.25);
      expect(figureOf(before, 'antipode_probe_results_dropped_total', 'probe="Oslo"')).toBe(5);
      expect(figureOf(before, 'antipode_probe_announcements_refused_total', 'probe="Oslo"')).toBe(
        4,
      );
      expect(
        figureOf(before, 'antipode_probe_checks_total', 'probe="Oslo",kind="https",outcome="fail"'),
      ).toBe(2);
      show({
        ...seen,
        probes: [
          {
            name: 'Oslo',
            of: 'public',
            continent: 'Europe',
            place: 'Europe/',
            state: 'well',
            said,
          },
        ],
      });
      // What a probe counts is told as it says it, however often it is asked for.
      expect(
        figureOf(await registry.metrics(), 'antipode_probe_checks_total', 'outcome="ok"'),
      ).toBe(40);
      expect(figureOf(before, 'antipode_notices_open', 'kind="probe_twice"')).toBe(1);
      expect(figureOf(before, 'antipode_stream_replicas_missing', 'stream="RESULTS"')).toBe(2);
      expect(figureOf(before, 'antipode_partition_pending_messages', 'partition="7"')).toBe(12);
      expect(figureOf(before, 'antipode_jetstream_bytes', 'server="nats-1"')).toBe(80);
      expect(figureOf(before, 'antipode_jetstream_limit_bytes', 'server="nats-1"')).toBe(100);
      expect(figureOf(before, 'antipode_data_free_bytes')).toBe(20);
      expect(figureOf(before, 'antipode_certificate_expiry_timestamp_seconds', 'of="web"')).toBe(5);
      show({
        ...seen,
        database: false,
        stored: undefined,
        probes: [
          {
            name: 'Oslo',
            of: 'public',
            continent: 'Europe',
            place: 'Europe/',
            state: 'lost',
            said: undefined,
          },
        ],
      });
      const after = await registry.metrics();
      expect(figureOf(after, 'antipode_probes', 'state="lost"')).toBe(1);
      expect(figureOf(after, 'antipode_places', 'state="lost"')).toBe(1);
      expect(figureOf(after, 'antipode_probe_spool_results', 'probe="Oslo"')).toBeUndefined();
      expect(figureOf(after, 'antipode_notices_open', 'kind="probe_twice"')).toBeUndefined();
      expect(figureOf(after, 'antipode_database_up')).toBe(0);
      expect(figureOf(after, 'antipode_resting')).toBe(0);
      expect(figureOf(after, 'antipode_partition_pending_messages')).toBeUndefined();
      expect(figureOf(after, 'antipode_stream_replicas_missing')).toBeUndefined();
      expect(figureOf(after, 'antipode_data_size_bytes')).toBe(0);
    });
  });

  describe('a coordinator with METRICS_PORT', () => {
    let app: App;
    let url: string;
    let figures: string;
    let house: TestOrganisation;
    const own = ownDatabase();

    beforeAll(async () => {
      const { database, sql } = await own;
      house = await createTestOrganisation(sql);
      let said = '';
      const hear = (line: string): void => {
        said += line;
      };
      const log = createLog({ name: 'test', level: 'info' }, { write: hear });
      const environment = {
        ...environmentOf(database, await createAccount()),
        SECRET_KEY: testSecretKey,
        PORT: '0',
        METRICS_PORT: '0',
        // Nobody is there; without it no mail would be sent.
        SMTP_URL: 'smtp://127.0.0.1:1',
        MAIL_FROM: 'antipode@example.com',
      };
      app = createApp(readConfig(environment), { log });
      ({ url } = await app.start());
      figures = `http://127.0.0.1:${/"port":(\d+),"msg":"serving \/metrics/.exec(said)?.[1]}/metrics`;
    });
    afterAll(() => app.close());

    const scrape = async (): Promise<string> => (await fetch(figures)).text();

    test('exports its own metrics and those of the installation, at that port alone', async () => {
      const called = await fetch(`${url}/api/v1/monitors`, {
        headers: { authorization: `Bearer ${house.owner.read}` },
      });
      expect(called.status).toBe(200);
      const text = await eventually(async () => {
        const now = await scrape();
        const isWhole =
          figureOf(now, 'antipode_partition_pending_messages', 'partition="31"') !== undefined &&
          figureOf(now, 'antipode_stream_replicas_missing', 'stream="RESULTS"') !== undefined;
        return isWhole &&
          figureOf(now, 'antipode_partitions_owned') === 32 &&
          figureOf(now, 'antipode_ready') === 1
          ? now
          : undefined;
      });
      expect(figureOf(text, 'antipode_build_info')).toBe(1);
      expect(figureOf(text, 'antipode_partitions_with_owner')).toBe(32);
      expect(figureOf(text, 'antipode_database_up')).toBe(1);
      expect(figureOf(text, 'antipode_resting')).toBe(0);
      expect(figureOf(text, 'antipode_stream_bytes', 'stream="RESULTS"')).toBeGreaterThanOrEqual(0);
      expect(figureOf(text, 'antipode_stream_replicas_missing', 'stream="RESULTS"')).toBe(0);
      expect(figureOf(text, 'antipode_partition_pending_messages', 'partition="31"')).toBe(0);
      expect(figureOf(text, 'antipode_data_size_bytes')).toBeGreaterThan(0);
      expect(
        figureOf(text, 'antipode_http_request_seconds_count', 'route="/api/v1/monitors"'),
      ).toBe(1);
      expect(figureOf(text, 'nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0);
      expect((await fetch(`${url}/metrics`)).status).toBe(404);
      expect((await fetch(new URL('/', figures))).status).toBe(404);
    });

    test('exports the disk use of the servers of the bus, as they report it every ten seconds', async () => {
      const text = await eventually(async () => {
        const now = await scrape();
        return figureOf(now, 'antipode_jetstream_limit_bytes') === undefined ? undefined : now;
      }, 60_000);
      expect(figureOf(text, 'antipode_jetstream_limit_bytes')).toBeGreaterThan(0);
      expect(figureOf(text, 'antipode_jetstream_bytes')).toBeGreaterThanOrEqual(0);
    });

    test('has the long-lived parts of its table, no more and no fewer', async () => {
      const named = (await scrape()).matchAll(/^antipode_actor_waiting\{actor="([^"]+)"\}/gm);
      expect([...named].map(([, name]) => name).toSorted()).toEqual(Object.keys(actors).toSorted());
    });

    test("gives an organisation's own monitoring its monitors, for a token that may read", async () => {
      const ask = (token: string) =>
        fetch(`${url}/api/v1/metrics`, { headers: { authorization: `Bearer ${token}` } });
      const answer = await ask(house.viewer.read);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        'text/plain; version=0.0.4; charset=utf-8',
      ]);
      const text = await answer.text();
      expect(text).toContain('antipode_monitors_left_out 0\n');
      expect(
        contractFaults('getMetrics', { status: answer.status, headers: answer.headers, text }),
      ).toEqual([]);
      expect((await ask('svc_nobody')).status).toBe(401);
      expect((await fetch(`${url}/api/v1/metrics`, { method: 'DELETE' })).status).toBe(405);
    });

    test('calls its figures as Prometheus wants them called', async () => {
      if (promtool === undefined) return; // Said loudly where it was looked for.
      const said = await runProgram([promtool.file, 'check', 'metrics'], {
        env: { ...process.env, ...promtool.env },
        input: await scrape(),
      });
      expect(said).toEqual({ code: 0, out: '', err: '' });
    });

    test('has every metric that the rules and the dashboard use', async () => {
      const text = await scrape();
      const told = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
        type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      );
      const asked = rulesAndPanels();
      expect(asked.length).toBeGreaterThan(15);
      expect(asked.filter((name) => !told.includes(name))).toEqual([]);
    });
  });
});

/** The rules for Prometheus, judged by its own program. */
describe('rules', async () => {
  /** Where it cannot be had, that is said loudly. */
  const promtool = await debianProgram('promtool', ['prometheus']);

  const read = (file: string): string => readFileSync(join(monitoringFolder, file), 'utf8');

  test('each rule leads to headings of the documentation, except the rules that say what to type', () => {
    const anchors = pageNames().flatMap((name) =>
      [...anchorsOf(pageText(name))].map((anchor) => `/docs/${name}#${anchor}`),
    );
    const [, ...rules] = read('alerts.yml').split(/^ *- alert: /m);
    expect(rules.length).toBeGreaterThan(15);
    const typed = ['AntipodeMessagesWait', 'AntipodeNotice', 'AntipodeDeadMansSwitch'];
    for (const rule of rules) {
      const name = rule.split('\n', 1)[0] ?? '';
      const pages = /what_to_do: '(\/docs\/.+)'/.exec(rule)?.[1]?.split('; ');
      expect(pages === undefined, name).toBe(typed.includes(name));
      for (const page of pages ?? []) expect(anchors, `${name}: ${page}`).toContain(page);
    }
  });

  test('the job label in the rules is the one that Prometheus is configured with', () => {
    const jobs = [...read('alerts.yml').matchAll(/job="(\w+)"/g)].map(([, job]) => job);
    expect(jobs.length).toBeGreaterThan(0);
    for (const job of jobs) expect(read('prometheus.yml')).toContain(`job_name: ${job}\n`);
  });

  describe.skipIf(promtool === undefined)('the rules for Prometheus', () => {
    test.each([
      ['are rules', ['check', 'rules', 'alerts.yml']],
      ['belong to a configuration that Prometheus takes', ['check', 'config', 'prometheus.yml']],
      ['fire when they should, and not before', ['test', 'rules', 'alerts-test.yml']],
    ])('%s', async (_what, [verb = '', noun = '', file = '']) => {
      const said = await runProgram(
        [promtool?.file ?? '', verb, noun, join(monitoringFolder, file)],
        {
          env: { ...process.env, ...promtool?.env },
        },
      );
      expect(said).toMatchObject({ code: 0 });
    });
  });
});
