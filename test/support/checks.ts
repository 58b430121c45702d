import type { Sql } from '../../coordinator/database/connect.ts';
import type { Check } from '../../coordinator/results/check.ts';
import { chunksOf, hourMs } from '../../coordinator/results/chunk.ts';
import {
  createResults,
  noUnsealedHours,
  type Results,
  type UnsealedHours,
} from '../../coordinator/results/reading.ts';
import { createLog } from '../../shared/base/log.ts';
import { type Clock, systemClock } from '../../shared/base/time.ts';

/** The reader of a database whose checks are in rows and chunks, unless unsealed hours are given. */
export const testResults = (clock: Clock, unsealed: UnsealedHours = noUnsealedHours): Results =>
  createResults({
    clock,
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

/** Puts all rows of results into chunks, as if their hours were sealed. */
export async function sealRows(sql: Sql): Promise<void> {
  const monitors = await sql<{ key: number }[]>`select distinct monitor_key as key from results`;
  const all = await testResults(systemClock).within(
    sql,
    monitors.map(({ key }) => ({ key, partition: 0, from: 0, to: Date.UTC(2100, 0) })),
  );
  for (const [nth, { key }] of monitors.entries())
    for (const [hour, some] of Map.groupBy(all[nth] ?? [], ({ at }) => at - (at % hourMs)))
      for (const { at, data } of chunksOf(hour, some))
        await sql`insert into chunks (monitor_key, at, data)
          values (${key}, ${new Date(at)}, ${data})
          on conflict (monitor_key, at) do update set data = excluded.data`;
  await sql`delete from results`;
}
