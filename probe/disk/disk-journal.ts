import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createTurn } from '../../shared/base/in-turn.ts';
import { createLogFile, eachWholeLine } from './disk.ts';

/**
 * A set of things on disk as lines of text: a snapshot and a log of the changes since. Whoever uses it says what a line means, and must take a line
 * a second time without harm.
 *
 * Modes: `appending` → (the log has grown long) `compacting`: a new log is begun, then a snapshot of what is now is written beside it, then the older
 * files go → `appending`. At every moment the newest whole snapshot and the logs from its number on say everything.
 */
export type Journal = {
  /** Settles when the lines outlive a loss of power. */
  readonly append: (lines: readonly string[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

const snapshotOf = (number: number): string => `snapshot-${String(number).padStart(8, '0')}.jsonl`;
const logOf = (number: number): string => `log-${String(number).padStart(8, '0')}.jsonl`;
const linesAtOnce = 500;

/** Calls for each whole line, and says how many there were. */
const readLines = async (path: string, onLine: (line: string) => void): Promise<number> => {
  let lines = 0;
  eachWholeLine(await readFile(path), (line) => {
    onLine(line);
    lines += 1;
  });
  return lines;
};

const numbersOf = (names: readonly string[], pattern: RegExp): number[] =>
  names.flatMap((name) => (pattern.test(name) ? [Number(name.replace(/\D/g, ''))] : [])).toSorted((a, b) => a - b);

export const openJournal = async (options: {
  readonly folder: string;
  /** Called for every line on disk, older ones first, before this settles. */
  readonly replay: (line: string) => void;
  /** Lines that say all there is now. */
  readonly snapshot: () => Iterable<string>;
  /** The log is compacted when it has more lines than this and twice as many as the snapshot had. */
  readonly leastLines?: number;
}): Promise<Journal> => {
  const { folder, replay, snapshot, leastLines = 5_000 } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = await readdir(folder);
  const base = numbersOf(names, /^snapshot-\d{8}\.jsonl$/).at(-1);
  const inSnapshot = base === undefined ? 0 : await readLines(join(folder, snapshotOf(base)), replay);
  const logs = numbersOf(names, /^log-\d{8}\.jsonl$/).filter((number) => number >= (base ?? 0));
  let logged = 0;
  for (const number of logs) logged += await readLines(join(folder, logOf(number)), replay);

  let current = Math.max(base ?? 0, ...logs);
  let snapshotLines = inSnapshot;
  let log: FileHandle | undefined;
  const inTurn = createTurn();

  /** Never appends to what an earlier run wrote: its last line may be torn. */
  const openLog = async (): Promise<FileHandle> => {
    current += 1;
    log = await createLogFile(join(folder, logOf(current)));
    return log;
  };

  const removeOlder = async (): Promise<void> => {
    for (const name of await readdir(folder)) {
      const number = Number(name.replace(/\D/g, ''));
      if (/^(snapshot|log)-\d{8}\.jsonl(\.next)?$/.test(name) && number < current) await rm(join(folder, name), { force: true });
    }
  };

  const compact = async (): Promise<void> => {
    await log?.close();
    log = undefined;
    await openLog();
    const path = join(folder, snapshotOf(current));
    const file = await open(`${path}.next`, 'w', 0o600);
    let lines = 0;
    try {
      // Appended, because a single write to a disk that is nearly full may take a part only, and not say so.
      let some: string[] = [];
      for (const line of snapshot()) {
        some.push(line);
        lines += 1;
        if (some.length < linesAtOnce) continue;
        await file.appendFile(`${some.join('\n')}\n`);
        some = [];
      }
      if (some.length > 0) await file.appendFile(`${some.join('\n')}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.next`, path);
    snapshotLines = lines;
    logged = 0;
    await removeOlder();
  };

  const append = async (lines: readonly string[]): Promise<void> => {
    if (lines.length === 0) return;
    const handle = log ?? (await openLog());
    try {
      await handle.appendFile(`${lines.join('\n')}\n`);
      await handle.datasync();
    } catch (error) {
      // Half a line may stand there: the next append begins a new file.
      log = undefined;
      await handle.close();
      throw error;
    }
    logged += lines.length;
    if (logged > leastLines && logged > 2 * snapshotLines) await compact();
  };

  return {
    append: (lines) => inTurn(() => append(lines)),
    close: () =>
      inTurn(async () => {
        await log?.close();
        log = undefined;
      }),
  };
};
