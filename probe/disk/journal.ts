import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { z } from 'zod';
import { createTurn } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Delivered } from '../../shared/bus/nats.ts';
import { createLogFile, eachWholeLine } from './files.ts';

/**
 * A set on disk as lines of text: a snapshot and a log of the changes since. The user of the
 * journal defines what a line means, and must accept a repeated line without harm.
 *
 * When the log has grown long, a new log is begun, then a snapshot of the present state is written
 * beside it, then the older files are removed. At every moment, the newest whole snapshot and the
 * logs from its number on hold everything.
 */
export type Journal = {
  /** Settles when the lines survive a power loss. */
  readonly append: (lines: readonly string[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

const linesAtOnce = 500;
const maxTurnMs = 10;

export async function openJournal(options: {
  readonly folder: string;
  /** Called for every line on disk, older ones first, before this settles. */
  readonly replay: (line: string) => void;
  /** Lines that describe the whole present state. */
  readonly snapshot: () => Iterable<string>;
  /**
   * The log is compacted when it has more bytes than this and twice as many as the snapshot had.
   */
  readonly leastBytes?: number;
}): Promise<Journal> {
  const { folder, replay, snapshot, leastBytes = 2_000_000 } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = await readdir(folder);
  const base = numbersOf(names, /^snapshot-\d{8}\.jsonl$/).at(-1);
  const inSnapshot =
    base === undefined ? 0 : await readLines(join(folder, snapshotOf(base)), replay);
  const logs = numbersOf(names, /^log-\d{8}\.jsonl$/).filter((number) => number >= (base ?? 0));
  let logged = 0;
  for (const number of logs) logged += await readLines(join(folder, logOf(number)), replay);

  let current = Math.max(base ?? 0, ...logs);
  let snapshotBytes = inSnapshot;
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
    let bytes = 0;
    const write = async (lines: readonly string[]): Promise<void> => {
      if (lines.length === 0) return;
      const text = Buffer.from(`${lines.join('\n')}\n`);
      bytes += text.length;
      await file.appendFile(text);
    };
    try {
      // Appends, because a single write to a nearly full disk may write only a part without an
      // error.
      let some: string[] = [];
      for (const line of snapshot()) {
        some.push(line);
        if (some.length < linesAtOnce) continue;
        await write(some);
        some = [];
      }
      await write(some);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.next`, path);
    snapshotBytes = bytes;
    logged = 0;
    await removeOlder();
  };

  const append = async (lines: readonly string[]): Promise<void> => {
    if (lines.length === 0) return;
    const handle = log ?? (await openLog());
    const text = Buffer.from(`${lines.join('\n')}\n`);
    try {
      await handle.appendFile(text);
      await handle.datasync();
    } catch (error) {
      // The file may end in half a line, so the next append begins a new file.
      log = undefined;
      await handle.close();
      throw error;
    }
    logged += text.length;
    if (logged > leastBytes && logged > 2 * snapshotBytes) await compact();
  };

  return {
    append: (lines) => inTurn(() => append(lines)),
    close: () =>
      inTurn(async () => {
        await log?.close();
        log = undefined;
      }),
  };
}

function numbersOf(names: readonly string[], pattern: RegExp): number[] {
  return names
    .flatMap((name) => (pattern.test(name) ? [Number(name.replace(/\D/g, ''))] : []))
    .toSorted((a, b) => a - b);
}

/** Calls for each complete line and returns how many bytes there were. */
async function readLines(path: string, onLine: (line: string) => void): Promise<number> {
  const text = await readFile(path);
  eachWholeLine(text, onLine);
  return text.length;
}

function snapshotOf(number: number): string {
  return `snapshot-${String(number).padStart(8, '0')}.jsonl`;
}

function logOf(number: number): string {
  return `log-${String(number).padStart(8, '0')}.jsonl`;
}

/**
 * A set that the bus delivers entry by entry. Each change takes effect at once, and is on disk
 * before it is acknowledged (rule 6).
 *
 * It begins as the last run left it. When the coordinator created our consumer again, everything
 * comes once more, and an entry that has not come by the end is gone.
 */
export type FollowedSet = {
  /** For the pulls of the set's consumers. */
  readonly onMessages: (messages: readonly Delivered[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** `Line`: one change, as it is on disk. */
export async function openFollowedSet<Line>(options: {
  readonly folder: string;
  /** The log's name for an entry. */
  readonly noun: string;
  readonly line: z.ZodType<Line>;
  /** Applies a change. */
  readonly apply: (change: Line) => void;
  /** The revision of a message, if it came from a coordinator; refused messages are skipped. */
  readonly announced: (message: Delivered) => { readonly revision: number } | undefined;
  /** The line that a message means. @throws when the message cannot be read. */
  readonly lineOf: (message: Delivered, revision: number) => unknown;
  /** Whether a message is an older one that came late; it is skipped. */
  readonly isLate: (change: Line, message: Delivered) => boolean;
  /** The entries that a change is about; undefined for a change about none of the set. */
  readonly entriesOf: (change: Line) => readonly string[] | undefined;
  readonly entries: () => Iterable<string>;
  /** The change that removes an entry. */
  readonly gone: (entry: string) => Line;
  /** Lines that describe the whole present state. */
  readonly snapshot: () => Iterable<object>;
  /** A change that has to be applied before what this message means. */
  readonly before?: (message: Delivered) => Line | undefined;
  /** A change as it is on disk. */
  readonly textOf?: (change: Line) => string;
  readonly log: Log;
}): Promise<FollowedSet> {
  const {
    folder,
    noun,
    line,
    apply,
    announced,
    lineOf,
    isLate,
    entriesOf,
    entries,
    gone,
    snapshot,
    before = () => undefined,
    textOf = (change) => JSON.stringify(change),
    log,
  } = options;
  /** The entries that have not come since everything began to come once more. */
  let missing: Set<string> | undefined;

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
    const named = entriesOf(change);
    if (named === undefined) return [];
    if (delivery === 1) missing = new Set(entries());
    if (!missing) return [];
    for (const entry of named) missing.delete(entry);
    if (pending > 0) return [];
    const lost = missing;
    missing = undefined;
    return [...entries()].filter((entry) => lost.has(entry)).map(gone);
  };

  return {
    onMessages: async (messages) => {
      const changes: Line[] = [];
      const take = (change: Line): void => {
        apply(change);
        changes.push(change);
      };
      let began = performance.now();
      for (const message of messages) {
        if (performance.now() - began > maxTurnMs) {
          // An envelope is as much as a hundred other messages, and checks must not wait for all.
          await nextTurn();
          began = performance.now();
        }
        const change = read(message);
        if (change === undefined) continue;
        const first = before(message);
        if (first !== undefined) take(first);
        if (isLate(change, message)) continue;
        for (const one of [change, ...takeStock(change, message)]) take(one);
      }
      await journal.append(changes.map(textOf));
      for (const message of messages) message.ack();
    },
    close: journal.close,
  };
}
