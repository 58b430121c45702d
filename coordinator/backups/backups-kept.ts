/** A folder of backups: which are there, which may go, and whether there is room for another. */
import { readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

const dayMs = 86_400_000;

export type Kept = { readonly file: string; readonly at: number };

/** Sorted by name they are sorted by time. */
export const nameOf = (at: number): string => `antipode-${new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, '')}.backup`;

/** Undefined for every file that is not a whole backup of ours; what is still being written has another name. */
export const timeOf = (name: string): number | undefined => {
  const [, day, time] = /^antipode-(\d{8})T(\d{6})Z\.backup$/.exec(name) ?? [];
  if (day === undefined || time === undefined) return undefined;
  const at = Date.parse(`${day.replace(/(....)(..)/, '$1-$2-')}T${time.replace(/(..)(..)/, '$1:$2:')}Z`);
  return Number.isNaN(at) ? undefined : at;
};

/** Whole ones, the newest first. */
export const listKept = async (folder: string): Promise<readonly Kept[]> =>
  (await readdir(folder))
    .flatMap((name) => {
      const at = timeOf(name);
      return at === undefined ? [] : [{ file: join(folder, name), at }];
    })
    .toSorted((one, other) => other.at - one.at);

/** What a run left that was killed while it wrote. Only who works on the folder alone may ask for this. */
export const sweepHalves = async (folder: string): Promise<readonly string[]> => {
  const halves = (await readdir(folder)).filter(
    (name) => name.endsWith('.partial') && timeOf(name.slice(0, -'.partial'.length)) !== undefined,
  );
  for (const name of halves) await rm(join(folder, name), { force: true });
  return halves;
};

/** Those older than `days`; the newest stays however old it is. */
export const tooOld = (kept: readonly Kept[], days: number, now: number): readonly Kept[] =>
  kept.slice(1).filter(({ at }) => at < now - days * dayMs);

export class NoRoom extends Error {
  constructor(folder: string, free: number, needed: number) {
    const mb = (bytes: number): string => `${Math.ceil(bytes / 1e6)} MB`;
    super(
      `the disk of ${folder} would be full: ${mb(free)} are free, ${mb(needed)} are wanted. Make room, keep fewer days (--keep-days), or leave raw results out (--without-results).`,
    );
    this.name = 'NoRoom';
  }
}

export type FreeBytes = (folder: string) => Promise<number>;

/** What a user without rights may take. */
export const freeBytes: FreeBytes = async (folder) => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

/** @throws NoRoom where another backup like the newest would leave less than `reserve`. */
export const demandRoom = async (folder: string, reserve: number, free: FreeBytes): Promise<void> => {
  const [newest] = await listKept(folder);
  const needed = reserve + (newest === undefined ? 0 : (await stat(newest.file)).size);
  const there = await free(folder);
  if (there < needed) throw new NoRoom(folder, there, needed);
};
