import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { createTurn } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Delivered } from '../../shared/bus/nats.ts';
import { createLogFile, eachWholeLine } from './files.ts';

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

/**
 * A set that the bus tells entry by entry: each change is in force at once, and on disk before it is acknowledged (rule 6).
 *
 * Modes: `from disk` (as the last run left it) → `following` (changes as they come) ↔ `taking stock` (the coordinator had our consumer made
 * anew, so everything comes once more: what has not come by the end of it is gone).
 */
export type FollowedSet = {
  /** For the pulls of the set's consumers. */
  readonly onMessages: (messages: readonly Delivered[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** `Line`: one change, as it stands on disk. */
export const openFollowedSet = async <Line>(options: {
  readonly folder: string;
  /** What an entry is called in the log. */
  readonly noun: string;
  readonly line: z.ZodType<Line>;
  /** Puts a change in force. */
  readonly apply: (change: Line) => void;
  /** The revision of a message, if a coordinator said it; what is refused is passed over. */
  readonly announced: (message: Delivered) => { readonly revision: number | undefined } | undefined;
  /** The line that a message stands for. @throws when there is no reading it. */
  readonly lineOf: (message: Delivered, revision: number | undefined) => unknown;
  /** Whether a message is an older one that came late and is passed over. */
  readonly isLate: (change: Line, message: Delivered) => boolean;
  /** The entry that a change is about; undefined for what is no entry of the set. */
  readonly entryOf: (change: Line) => string | undefined;
  readonly entries: () => Iterable<string>;
  /** The change that takes an entry away. */
  readonly gone: (entry: string) => Line;
  /** Lines that say all there is now. */
  readonly snapshot: () => Iterable<object>;
  readonly log: Log;
}): Promise<FollowedSet> => {
  const { folder, noun, line, apply, announced, lineOf, isLate, entryOf, entries, gone, snapshot, log } = options;
  /** The entries that came since everything began to come once more; undefined when it does not. */
  let stock: Set<string> | undefined;

  const journal = await openJournal({
    folder,
    replay: (text) => {
      try {
        apply(line.parse(JSON.parse(text)));
      } catch (error) {
        log.warn({ err: error }, `a stored ${noun} cannot be read; it comes again from the bus`);
      }
    },
    snapshot: function* () {
      for (const each of snapshot()) yield JSON.stringify(each);
    },
  });

  /** What a message says; undefined for what a newer coordinator may say and we do not understand. */
  const read = (message: Delivered): Line | undefined => {
    const believed = announced(message);
    if (!believed) return undefined;
    try {
      return line.parse(lineOf(message, believed.revision));
    } catch (error) {
      log.error({ err: error, subject: message.subject }, `a message about ${noun}s cannot be read and is passed over`);
      return undefined;
    }
  };

  /** What this message, if it ends the taking of stock, shows to be gone. */
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
