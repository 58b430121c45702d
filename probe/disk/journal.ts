import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { createTurn } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Delivered } from '../../shared/bus/nats.ts';
import { createLogFile, eachWholeLine } from './files.ts';

/**
 * A set on disk as lines of text: a snapshot and a log of the changes since. The user of the
 * journal defines what a line means, and must accept a repeated line without harm.
 *
 * Modes: `appending` → (the log has grown long) `compacting`: a new log is begun, then a snapshot
 * of the present state is written beside it, then the older files are removed → `appending`. At
 * every moment, the newest whole snapshot and the logs from its number on hold everything.
 */
export type Journal = {
  /** Settles when the lines survive a power loss. */
  readonly append: (lines: readonly string[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

const snapshotOf = (number: number): string => `snapshot-${String(number).padStart(8, '0')}.jsonl`;
const logOf = (number: number): string => `log-${String(number).padStart(8, '0')}.jsonl`;
const linesAtOnce = 500;

/** Calls for each complete line and returns how many there were. */
const readLines = async (path: string, onLine: (line: string) => void): Promise<number> => {
  let lines = 0;
  eachWholeLine(await readFile(path), (line) => {
    onLine(line);
    lines += 1;
  });
  return lines;
};

const numbersOf = (names: readonly string[], pattern: RegExp): number[] =>
  names
    .flatMap((name) => (pattern.test(name) ? [Number(name.replace(/\D/g, ''))] : []))
    .toSorted((a, b) => a - b);

export const openJournal = async (options: {
  readonly folder: string;
  /** Called for every line on disk, older ones first, before this settles. */
  readonly replay: (line: string) => void;
  /** Lines that describe the whole present state. */
  readonly snapshot: () => Iterable<string>;
  /**
   * The log is compacted when it has more lines than this and twice as many as the snapshot had.
   */
  readonly leastLines?: number;
}): Promise<Journal> => {
  const { folder, replay, snapshot, leastLines = 5_000 } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = await readdir(folder);
  const base = numbersOf(names, /^snapshot-\d{8}\.jsonl$/).at(-1);
  const inSnapshot =
    base === undefined ? 0 : await readLines(join(folder, snapshotOf(base)), replay);
  const logs = numbersOf(names, /^log-\d{8}\.jsonl$/).filter((number) => number >= (base ?? 0));
  let logged = 0;
  for (const number of logs) logged += await readLines(join(folder, logOf(number)), replay);

  let current = Math.max(base ?? 0, ...logs);
  let snapshotLines = inSnapshot;
  let log: FileHandle | undefined;
  const inTurn = createTurn();

  /** Never appends to an earlier run's file: its last line may be cut off. */
  const openLog = async (): Promise<FileHandle> => {
    current += 1;
    log = await createLogFile(join(folder, logOf(current)));
    return log;
  };

  const removeOlder = async (): Promise<void> => {
    for (const name of await readdir(folder)) {
      const number = Number(name.replace(/\D/g, ''));
      if (/^(snapshot|log)-\d{8}\.jsonl(\.next)?$/.test(name) && number < current)
        await rm(join(folder, name), { force: true });
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
      // Appends, because a single write to a nearly full disk may write only a part without an
      // error.
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
      // The file may end in half a line, so the next append begins a new file.
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

/**
 * A set that the bus delivers entry by entry. Each change takes effect at once, and is on disk
 * before it is acknowledged (rule 6).
 *
 * Modes: `from disk` (as the last run left it) → `following` (changes as they come) ↔ `taking
 * stock` (the coordinator created our consumer again, so everything comes once more; an entry that
 * has not come by the end is gone).
 */
export type FollowedSet = {
  /** For the pulls of the set's consumers. */
  readonly onMessages: (messages: readonly Delivered[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** `Line`: one change, as it is on disk. */
export const openFollowedSet = async <Line>(options: {
  readonly folder: string;
  /** The log's name for an entry. */
  readonly noun: string;
  readonly line: z.ZodType<Line>;
  /** Applies a change. */
  readonly apply: (change: Line) => void;
  /** The revision of a message, if it came from a coordinator; refused messages are skipped. */
  readonly announced: (message: Delivered) => { readonly revision: number | undefined } | undefined;
  /** The line that a message means. @throws when the message cannot be read. */
  readonly lineOf: (message: Delivered, revision: number | undefined) => unknown;
  /** Whether a message is an older one that came late; it is skipped. */
  readonly isLate: (change: Line, message: Delivered) => boolean;
  /** The entry that a change is about; undefined for a change about no entry of the set. */
  readonly entryOf: (change: Line) => string | undefined;
  readonly entries: () => Iterable<string>;
  /** The change that removes an entry. */
  readonly gone: (entry: string) => Line;
  /** Lines that describe the whole present state. */
  readonly snapshot: () => Iterable<object>;
  readonly log: Log;
}): Promise<FollowedSet> => {
  const {
    folder,
    noun,
    line,
    apply,
    announced,
    lineOf,
    isLate,
    entryOf,
    entries,
    gone,
    snapshot,
    log,
  } = options;
  /** The entries received since everything began to come once more; undefined outside of that. */
  let stock: Set<string> | undefined;

  const journal = await openJournal({
    folder,
    replay: (text) => {
      try {
        apply(line.parse(JSON.parse(text)));
      } catch (error) {
        log.warn({ err: error }, `a stored ${noun} cannot be read; the bus sends it again`);
      }
    },
    snapshot: function* () {
      for (const each of snapshot()) yield JSON.stringify(each);
    },
  });

  /**
   * What a message says; undefined for a message of a newer coordinator that we do not understand.
   */
  const read = (message: Delivered): Line | undefined => {
    const believed = announced(message);
    if (!believed) return undefined;
    try {
      return line.parse(lineOf(message, believed.revision));
    } catch (error) {
      log.error(
        { err: error, subject: message.subject },
        `skipped a message about ${noun}s that cannot be read`,
      );
      return undefined;
    }
  };

  /** The removals that this message proves, if it ends the taking of stock. */
  const takeStock = (change: Line, { delivery, pending }: Delivered): Line[] => {
    const entry = entryOf(change);
    if (entry === undefined) return [];
    if (delivery === 1) stock = new Set();
    if (!stock) return [];
    stock.add(entry);
    if (pending > 0) return [];
    const came = stock;
    stock = undefined;
    return [...entries()].filter((each) => !came.has(each)).map(gone);
  };

  return {
    onMessages: async (messages) => {
      const changes: Line[] = [];
      for (const message of messages) {
        const change = read(message);
        if (change === undefined || isLate(change, message)) continue;
        for (const one of [change, ...takeStock(change, message)]) {
          apply(one);
          changes.push(one);
        }
      }
      await journal.append(changes.map((change) => JSON.stringify(change)));
      for (const message of messages) message.ack();
    },
    close: journal.close,
  };
};
