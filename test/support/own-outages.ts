import { insertOrganisation } from '../../coordinator/organisations/queries.ts';
import { newId } from '../../shared/base/crypto.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import { makeCause } from './causes.ts';
import { type GivenCheck, storeChecks } from './checks.ts';
import { tellOfDown } from './demo-channels.ts';
import { rowsFor } from './rows.ts';
import type { TestWeb } from './web.ts';

/** Outages that the demo has none of: of a job, and where a private place sees another side. */

/** A job that failed, with what it said. */
export const ownJobOutage = '01900000-0000-7000-8000-00000000000a';

/** It answers inside and fails outside. */
export const ownSplitOutage = '01900000-0000-7000-8000-00000000000b';

/** It fails inside alone, which is no outage. */
export const ownSplit = '01900000-0000-7000-8000-00000000000c';

const minute = 60_000;
const hour = 60 * minute;

export const seedOwnOutages = async (
  { sql, house: { organisation } }: Pick<TestWeb, 'sql' | 'house'>,
  now: number,
): Promise<void> => {
  const at = (ago: number): number => now - ago;
  const office = newId();
  await sql`insert into places ${rowsFor(sql, 'places', { id: office, organisation_id: organisation, name: 'Office Berlin', continent: 'Europe' })}`;
  await sql`insert into probes ${rowsFor(sql, 'probes', {
    id: newId(),
    organisation_id: organisation,
    place_id: office,
    name: 'Office Berlin',
    continent: 'Europe',
    last_seen_at: at(2_000),
    created_at: at(30 * 24 * hour),
  })}`;
  const places = ['Europe', 'North America', 'Asia', office];
  const age = 40 * 24 * hour;
  const young = 30 * minute;
  const monitor = (id: string, name: string, type: string, target: string, lived = age) => ({
    id,
    organisation_id: organisation,
    partition: partitionOf(id),
    name,
    type,
    target,
    interval_s: type === 'heartbeat' ? 86_400 : 60,
    places: type === 'heartbeat' ? null : places,
    created_at: at(lived),
  });
  const [job, intranet] = [newId(), newId()];
  await sql`insert into monitors ${rowsFor(sql, 'monitors', [
    monitor(job, 'Ledger export', 'heartbeat', ''),
    monitor(intranet, 'Intranet', 'https', 'https://intranet.shop.example/', young),
    monitor(ownSplit, 'Wiki', 'https', 'https://wiki.shop.example/'),
  ])}`;
  await sql`insert into ledger ${rowsFor(
    sql,
    'ledger',
    [
      { monitor_id: intranet, lived: young },
      { monitor_id: ownSplit, lived: age },
    ].map(({ monitor_id, lived }) => ({
      monitor_id,
      kind: 'unknown',
      began_at: at(lived),
      ended_at: at(lived - 3_000),
      interval_s: 60,
    })),
  )}`;

  const ping = (kind: string, ago: number, exit_code: number | null, body: string) => ({
    id: newId(),
    monitor_id: job,
    kind,
    exit_code,
    at: at(ago),
    run_ms: kind === 'start' ? null : 83_000,
    method: 'POST',
    body,
    ear: 'Frankfurt',
  });
  // That run failed, and its repetition 40 minutes later did not.
  const failedBefore = (25 + 24 * 11) * hour;
  await sql`insert into beats ${rowsFor(sql, 'beats', [
    ...Array.from({ length: 29 }, (_, back) =>
      back === 11
        ? ping('fail', failedBefore, 1, 'export: no space left on device')
        : ping(
            'success',
            (25 + 24 * back) * hour,
            0,
            `exported ${(18_377 - back * 173).toLocaleString('en')} rows`,
          ),
    ),
    ping('success', failedBefore - 40 * minute, 0, 'exported 16,474 rows'),
    ping('start', 60 * minute + 83_000, null, ''),
    ping('fail', 60 * minute, 2, 'export: connection to server at "db.internal" refused'),
  ])}`;

  const progress = {
    failed: ['Europe', 'North America', 'Asia'],
    passed: [],
    asked: ['Europe', 'North America', 'Asia'],
    across: { failed: [], passed: [office] },
  };
  const incident = (id: string, monitor_id: string, ago: number, layer: string, cause: object) => ({
    id,
    organisation_id: organisation,
    monitor_id,
    started_at: at(ago),
    confirmed_at: at(layer === 'heartbeat' ? ago : ago - 412),
    layer,
    cause: { ...cause },
    ...(layer === 'heartbeat'
      ? { scope: null, progress: {} }
      : {
          seen_probe: 'Frankfurt',
          seen_continent: 'Europe',
          confirmed_probe: 'Virginia',
          confirmed_continent: 'North America',
          scope: 'everywhere',
          progress: { progress },
        }),
  });
  const exited = (exit_code: number) => ({ class: 'heartbeat_exit_code', params: { exit_code } });
  const refused = { class: 'connection_refused', params: {} };
  for (const row of [
    {
      ...incident(newId(), job, failedBefore, 'heartbeat', exited(1)),
      resolved_at: at(failedBefore - 40 * minute),
    },
    incident(ownJobOutage, job, 60 * minute, 'heartbeat', exited(2)),
    incident(ownSplitOutage, intranet, 4 * minute, 'tcp', refused),
  ])
    await sql`insert into incidents ${rowsFor(sql, 'incidents', row)}`;
  const [ops] = await sql<{ id: string }[]>`
    select id from channels where organisation_id = ${organisation} and name = '#ops'`;
  const channel = ops?.id ?? '';
  await tellOfDown(sql, organisation, {
    ...{ channel, incident: ownJobOutage, monitor: job, name: 'Ledger export' },
    sentence: 'Ledger export is down: the job ended with exit code 2.',
    due: at(60 * minute) + 9,
  });
  await tellOfDown(sql, organisation, {
    ...{ channel, incident: ownSplitOutage, monitor: intranet, name: 'Intranet' },
    sentence: 'Intranet is down outside: connection refused.',
    due: at(4 * minute) + 421,
  });
  await sql`update channels set last_delivered_at = ${new Date(at(4 * minute) + 612)} where id = ${channel}`;
  const saw = (part: string, continent: string, probe: string, later: number) => ({
    incident_id: ownSplitOutage,
    part,
    continent,
    probe,
    at: at(4 * minute - later),
    outcome: continent.includes('/') ? 0 : 1,
    took_ms: 31,
    cause: continent.includes('/') ? null : refused,
    phases: { dns: 3, tcp: 11 },
    evidence: { address: '203.0.113.40' },
  });
  await sql`insert into incident_evidence ${rowsFor(sql, 'incident_evidence', [
    saw('seen', 'Europe', 'Frankfurt', 0),
    saw('confirmed', 'North America', 'Virginia', 412),
    saw('matrix', 'Asia', 'Singapore', 508),
    saw('matrix', `Europe/${office}`, 'Office Berlin', 96),
  ])}`;

  const keys = await sql<{ key: number; is_inside: boolean }[]>`
    select key, organisation_id is not null as is_inside from probes
    where last_seen_at is not null order by key`;
  const [row] = await sql<{ key: number }[]>`select key from monitors where id = ${ownSplit}`;
  const checks = keys.map(
    ({ key: probe, is_inside }): GivenCheck => ({
      probe,
      at: at(minute),
      took_ms: 64,
      ...(is_inside ? { outcome: 'fail', cause: 'timeout' } : {}),
    }),
  );
  await storeChecks(sql, row?.key ?? 0, checks);
};

/**
 * The public page of an organisation in which one cause has taken down four of six stores, and
 * ended another outage of two before.
 */
export const storesSlug = 'stores';

export const seedStores = async ({ sql }: Pick<TestWeb, 'sql'>, now: number): Promise<void> => {
  const at = (ago: number): number => now - ago;
  const [organisation, page] = [newId(), newId()];
  await insertOrganisation(sql, {
    id: organisation,
    name: 'Corner stores',
    plan: 'self_hosted',
    time_zone: 'UTC',
  });
  const stores = ['Lisbon', 'Porto', 'Coimbra', 'Faro', 'Braga', 'Online shop'].map((name) => ({
    id: newId(),
    name,
  }));
  await sql`insert into monitors ${rowsFor(
    sql,
    'monitors',
    stores.map(({ id, name }) => ({
      id,
      organisation_id: organisation,
      partition: partitionOf(id),
      name,
      type: 'https',
      target: 'https://stores.example/',
      interval_s: 60,
      created_at: at(70 * 24 * hour),
    })),
  )}`;
  await sql`insert into ledger ${rowsFor(
    sql,
    'ledger',
    stores.map(({ id }) => ({
      monitor_id: id,
      kind: 'unknown',
      began_at: at(70 * 24 * hour),
      ended_at: at(70 * 24 * hour - 3_000),
      interval_s: 60,
    })),
  )}`;
  await sql`insert into status_pages ${rowsFor(sql, 'status_pages', {
    id: page,
    organisation_id: organisation,
    name: 'Corner stores',
    slug: storesSlug,
    accent: '#6a3fb5',
    access: 'public',
  })}`;
  await sql`insert into status_page_monitors ${rowsFor(
    sql,
    'status_page_monitors',
    stores.map(({ id, name }, position) => ({
      page_id: page,
      monitor_id: id,
      display_name: name,
      position,
    })),
  )}`;
  const outage = (nth: number, from: number, to: number | null) => ({
    id: newId(),
    organisation_id: organisation,
    monitor_id: stores[nth]?.id,
    started_at: at(from),
    confirmed_at: at(from - 412),
    resolved_at: to === null ? null : at(to),
    seen_probe: 'Frankfurt',
    seen_continent: 'Europe',
    confirmed_probe: 'Virginia',
    confirmed_continent: 'North America',
    scope: 'everywhere',
    layer: 'dns',
    cause: { class: 'dns_error', params: { code: 'SERVFAIL' } },
  });
  const open = [0, 1, 2, 3].map((nth) => outage(nth, 14 * minute - nth * 4_000, null));
  const over = [1, 4].map((nth) => outage(nth, 50 * hour, 49 * hour));
  await sql`insert into incidents ${rowsFor(sql, 'incidents', [...open, ...over])}`;
  for (const same of [open, over]) await makeCause(sql, organisation, ...same.map(({ id }) => id));
  const keys = await sql<{ id: string; key: number }[]>`select id, key from monitors
    where organisation_id = ${organisation}`;
  const [probe] = await sql<{ key: number }[]>`select key from probes where name = 'Frankfurt'`;
  for (const { id, key } of keys)
    await storeChecks(sql, key, [
      {
        probe: probe?.key ?? 0,
        at: at(30_000),
        took_ms: 64,
        ...(open.some(({ monitor_id }) => monitor_id === id) ? { outcome: 'fail' } : {}),
      },
    ]);
  const places = [
    ['seen', 'Europe', 'Frankfurt', 0],
    ['confirmed', 'North America', 'Virginia', 412],
    ['matrix', 'Asia', 'Singapore', 508],
  ] as const;
  await sql`insert into incident_evidence ${rowsFor(
    sql,
    'incident_evidence',
    open.flatMap(({ id, started_at, cause }) =>
      places.map(([part, continent, probe, later]) => ({
        incident_id: id,
        part,
        continent,
        probe,
        at: started_at + later,
        outcome: 1,
        took_ms: 31,
        cause,
      })),
    ),
  )}`;
  await sql`insert into status_page_posts (id, page_id, organisation_id, incident_id, kind, text, written_at, told_at)
    values (${newId()}, ${page}, ${organisation}, ${open[0]?.id ?? ''}, 'investigating',
      'Four of our stores cannot be reached. We are looking into it.', ${new Date(at(10 * minute))}, ${new Date(now)})`;
};
