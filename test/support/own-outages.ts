import { newId } from '../../shared/base/crypto.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import { type GivenCheck, storeChecks } from './checks.ts';
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
  const monitor = (id: string, name: string, type: string, target: string) => ({
    id,
    organisation_id: organisation,
    partition: partitionOf(id),
    name,
    type,
    target,
    interval_s: type === 'heartbeat' ? 86_400 : 60,
    places: type === 'heartbeat' ? null : places,
    created_at: at(40 * 24 * hour),
  });
  const [job, intranet] = [newId(), newId()];
  await sql`insert into monitors ${rowsFor(sql, 'monitors', [
    monitor(job, 'Ledger export', 'heartbeat', ''),
    monitor(intranet, 'Intranet', 'https', 'https://intranet.shop.example/'),
    monitor(ownSplit, 'Wiki', 'https', 'https://wiki.shop.example/'),
  ])}`;

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
  await sql`insert into beats ${rowsFor(sql, 'beats', [
    ping('success', 49 * hour, 0, 'exported 18,204 rows'),
    ping('success', 25 * hour, 0, 'exported 18,377 rows'),
    ping('start', 62 * minute, null, ''),
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
  const refused = { class: 'connection_refused', params: {} };
  for (const row of [
    incident(ownJobOutage, job, 60 * minute, 'heartbeat', {
      class: 'heartbeat_exit_code',
      params: { exit_code: 2 },
    }),
    incident(ownSplitOutage, intranet, 4 * minute, 'tcp', refused),
  ])
    await sql`insert into incidents ${rowsFor(sql, 'incidents', row)}`;
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
