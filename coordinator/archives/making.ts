import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Sql } from '../database/connect.ts';
import { holdAlone } from '../database/sql.ts';
import { checksOfDay, daysOfOrganisation, isKept } from '../results/archive.ts';
import { dateOf } from '../results/days.ts';
import { createParquet } from '../results/parquet.ts';
import {
  type ArchiveRow,
  deletePieces,
  endArchive,
  insertFile,
  insertPiece,
  oldestWaiting,
} from './queries.ts';

/** For how long an archive waits for checks that arrive late; then it has their day as it is. */
const maxWaitMs = 1_800_000;

/**
 * Makes the archives that were asked for, a day at a time: its pieces, then its file, which says
 * that it is whole. A process that is killed leaves pieces of one day, which the next one replaces.
 */
export const createArchiver = ({
  sql,
  clock,
  log,
  signal,
  maxBytes = 512 * 1024 * 1024,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends it between two pieces. */
  readonly signal: AbortSignal;
  /** The limit of one archive: it is kept in the database. */
  readonly maxBytes?: number;
}): { readonly tick: () => Promise<void> } => {
  const warn = (line: string): void => log.error(line);

  /** False when it would be larger than an archive may be. */
  const makeDay = async (archive: ArchiveRow, day: number): Promise<boolean> => {
    const name = dateOf(day);
    await deletePieces(sql, archive, name);
    const table = createParquet();
    const before = archive.files.reduce((all, file) => all + file.bytes, 0);
    const file = { day: name, checks: 0, bytes: 0 };
    let nth = 0;
    const put = async (data: Uint8Array): Promise<boolean> => {
      const isThere = await insertPiece(sql, archive, { day: name, nth, data });
      nth += 1;
      file.bytes += data.length;
      return isThere;
    };
    for await (const checks of checksOfDay(sql, day, archive.organisation_id, warn)) {
      if (signal.aborted || !(await put(table.add(checks)))) return true;
      file.checks += checks.length;
      if (before + file.bytes > maxBytes) {
        await deletePieces(sql, archive, name);
        return false;
      }
    }
    await put(table.end());
    if (await isKept(sql, day)) await insertFile(sql, archive, file);
    else await deletePieces(sql, archive, name);
    return true;
  };

  return {
    tick: async () => {
      if (signal.aborted || (await oldestWaiting(sql)) === undefined) return;
      // One coordinator makes them.
      await holdAlone(sql, 'archives', async () => {
        const postponed: string[] = [];
        for (let archive = await oldestWaiting(sql); archive && !signal.aborted; ) {
          const now = clock.now();
          const written = new Set(archive.files.map(({ day }) => day));
          const days = await daysOfOrganisation(sql, now, archive.organisation_id);
          const next = days.find(({ day }) => !written.has(dateOf(day)));
          const isOverdue = now - archive.created_at.getTime() >= maxWaitMs;
          if (next !== undefined && !next.is_settled && !isOverdue) postponed.push(archive.id);
          else {
            const isTooLarge = next !== undefined && !(await makeDay(archive, next.day));
            if (next === undefined || isTooLarge)
              await endArchive(sql, archive, { at: new Date(clock.now()), isTooLarge });
          }
          archive = await oldestWaiting(sql, postponed);
        }
      });
    },
  };
};
