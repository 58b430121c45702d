import type { Queryable } from '../../coordinator/database/connect.ts';
import { bytesText } from '../../coordinator/database/table.ts';
import { type Check, unionOf } from '../../coordinator/results/check.ts';
import { chunksOf, hourMs, hourOf } from '../../coordinator/results/chunk.ts';
import {
  createResults,
  noUnsealedHours,
  type Results,
  type UnsealedHours,
} from '../../coordinator/results/reading.ts';
import { makeResultDays } from '../../coordinator/results/retention.ts';
import { createLog } from '../../shared/base/log.ts';

/** The reader of a database whose checks are in chunks, unless unsealed hours are given. */
export const testResults = (unsealed: UnsealedHours = noUnsealedHours): Results =>
  createResults({
    unsealed,
    log: createLog({ name: 'test results', level: 'silent' }),
  });

/** Of https, in milliseconds by continent; each check differs by up to a fifth of them. */
const usual = [
  { dns: 1.2, tcp: 11.8, tls: 26.1, first_byte: 48.4, body: 1.9 },
  { dns: 1.6, tcp: 84.2, tls: 171.5, first_byte: 121.9, body: 2.4 },
  { dns: 2.1, tcp: 148.7, tls: 301.3, first_byte: 187.2, body: 2.2 },
];

/**
 * Passes of an hour, each from the next of three continents: probes 1 to 3. Their times are a few
 * milliseconds off, as a busy probe's are. The same on each run.
 */
export function minuteChecks(hour: number, interval_ms: number, seed = 1): Check[] {
  const random = randomOf(seed);
  return Array.from({ length: Math.floor(3_600_000 / interval_ms) }, (_, nth) => {
    const place = nth % usual.length;
    const of = usual[place] ?? usual[0];
    // The sum of three: most are near the middle, few are far.
    const about = (ms = 0): number =>
      Math.round(ms * (0.8 + ((random() + random() + random()) / 3) * 0.4) * 10) / 10;
    const [dns, tcp, tls, first_byte] = [of?.dns, of?.tcp, of?.tls, of?.first_byte].map(about);
    const parts = { dns: dns ?? 0, tcp: tcp ?? 0, tls: tls ?? 0, first_byte: first_byte ?? 0 };
    const sum = parts.dns + parts.tcp + parts.tls + parts.first_byte + about(of?.body);
    const total = Math.round(sum * 10) / 10;
    return {
      probe: place + 1,
      at: hour + nth * interval_ms + Math.floor(random() * 8),
      took_ms: total,
      outcome: 'ok',
      cause: null,
      phases: { ...parts, total },
    };
  });
}

/** Of a seed, numbers from 0 to 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A check as tests say it: what it leaves out is that of a plain pass. A probe by its id or key. */
export type GivenCheck = Partial<Omit<Check, 'probe'>> & {
  readonly at: number;
  readonly probe?: number | string;
};

/**
 * Stores checks of a monitor, by its id or key, in chunks with those that are there. Their days are
 * made.
 */
export async function storeChecks(
  sql: Queryable,
  monitor: number | string,
  checks: readonly GivenCheck[],
): Promise<void> {
  const [found] = await sql<{ key: number }[]>`
    select key from monitors where id::text = ${String(monitor)}`;
  const key = typeof monitor === 'number' ? monitor : (found?.key ?? 0);
  const probes = new Map(
    (await sql<{ id: string; key: number }[]>`select id, key from probes`).map((each) => [
      each.id,
      each.key,
    ]),
  );
  const given = checks.map(
    ({ probe = 1, ...check }): Check => ({
      took_ms: 20,
      outcome: 'ok',
      cause: null,
      phases: null,
      ...check,
      probe: typeof probe === 'number' ? probe : (probes.get(probe) ?? 0),
    }),
  );
  const byHour = [...Map.groupBy(given, ({ at }) => hourOf(at))];
  const windows = byHour.map(([from]) => ({ key, partition: 0, from, to: from + hourMs }));
  for (const { from, to } of windows) await makeResultDays(sql, from, to);
  const known = await testResults().within(sql, windows);
  const chunks = byHour.flatMap(([hour, some], nth) =>
    chunksOf(hour, unionOf(known[nth] ?? [], some)),
  );
  await sql`insert into chunks (monitor_key, at, data)
    select ${key}, to_timestamp(at / 1000.0), data::bytea
    from unnest(${chunks.map(({ at }) => at)}::float8[],
      ${chunks.map(({ data }) => bytesText(data))}::text[]) as t (at, data)
    on conflict (monitor_key, at) do update set data = excluded.data`;
}
