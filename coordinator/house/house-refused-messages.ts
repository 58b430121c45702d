import type { Log } from '../../shared/base/log.ts';
import type { RefusedReason } from '../domain/refused-reason.ts';
import type { Sql } from '../store/store-database.ts';
import { countRefused } from '../store/store-refusal-counts.ts';
import { type Figures, noFigures } from './house-figures.ts';

export type { RefusedReason } from '../domain/refused-reason.ts';

export type Refusals = { readonly count: (probe: string, reason: RefusedReason, by?: number) => void; readonly flush: () => Promise<void> };

/** A made-up probe id must not make a row of its own. */
const stranger = 'unknown';
const mostRows = 1_000;
/** So many of a kind are logged one by one in a minute: who floods us does not fill the disk. */
const mostLogged = 20;
const loggedEachMs = 60_000;

/** Counts refusals in memory; `flush` writes them. What a flush could not write is kept for the next. */
type Parts = { readonly sql: Sql; readonly log: Log; readonly figures?: Figures };

export const createRefusals = ({ sql, log, figures = noFigures }: Parts): Refusals => {
  let counts = new Map<string, { probe: string; reason: string; count: number }>();
  const add = (probe: string, reason: string, by: number) => {
    const key = `${probe} ${reason}`;
    const row = counts.get(key);
    if (row) row.count += by;
    else if (counts.size < mostRows) counts.set(key, { probe, reason, count: by });
  };
  let logged = new Map<string, number>();
  let loggingSince = performance.now();
  const tell = (probe: string, reason: string, by: number): void => {
    if (performance.now() - loggingSince > loggedEachMs) [loggingSince, logged] = [performance.now(), new Map()];
    // Who makes ids up gets no more lines by it.
    const kind = `${reason === 'unknown_probe' ? stranger : probe} ${reason}`;
    const before = logged.get(kind) ?? 0;
    if (before >= mostLogged || logged.size >= mostRows) return;
    logged.set(kind, before + 1);
    log.warn({ probe, reason, by }, 'something from the bus was refused');
  };
  return {
    count: (probe, reason, by = 1) => {
      tell(probe, reason, by);
      figures.refused(reason, by);
      add(reason === 'unknown_probe' ? stranger : probe, reason, by);
    },
    flush: async () => {
      const writing = counts;
      if (writing.size === 0) return;
      counts = new Map();
      try {
        await countRefused(sql, [...writing.values()]);
      } catch (error) {
        for (const { probe, reason, count } of writing.values()) add(probe, reason, count);
        throw error;
      }
    },
  };
};
