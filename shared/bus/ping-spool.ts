import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Log } from '../base/log.ts';
import { makeFolder } from '../base/process.ts';
import { type PingMessage, pingMessage } from './messages.ts';

/** The ids of the delivered pings, and why others failed. */
type HandedOver = {
  readonly handed: ReadonlySet<string>;
  readonly failures: readonly unknown[];
};

type Lined = { readonly monitor: string; readonly ping: { readonly id: string } };

/**
 * Delivers pings in parallel for different monitors, in sequence for each. A line ends with its
 * first failure, or when time runs out.
 */
export async function handOverInLines<Entry extends Lined>(
  entries: readonly Entry[],
  handOver: (entry: Entry) => Promise<void>,
  mayGoOn: () => boolean = () => true,
): Promise<HandedOver> {
  const handed = new Set<string>();
  const lines = Map.groupBy(entries, ({ monitor }) => monitor).values();
  const ends = await Promise.allSettled(
    lines.map(async (line) => {
      for (const entry of line) {
        if (!mayGoOn()) return;
        await handOver(entry);
        handed.add(entry.ping.id);
      }
    }),
  );
  return {
    handed,
    failures: ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : [])),
  };
}

/**
 * Pings accepted while the bus was down, on the disk of the place that accepted them. Further pings
 * queue behind those on disk. One drain delivers at a time, and the file is truncated when it is
 * empty; when the bus goes away again, the rest of a large file is rewritten.
 */
export type SpooledPing = {
  readonly organisation: string;
  readonly monitor: string;
  readonly ping: PingMessage;
  /** Its time comes from the host's clock, before any coordinator had given the time. */
  readonly uncorrected?: true;
};

export type PingSpool = {
  readonly waiting: () => number;
  /** Whether a ping of this monitor waits. */
  readonly holds: (monitor: string) => boolean;
  /** Settles when the ping is on disk. @throws SpoolFull. */
  readonly append: (entry: SpooledPing) => Promise<void>;
  /**
   * Delivers the backlog, oldest first for each monitor, until nothing is left or a delivery fails.
   * Failed pings are kept, and retried after a crash.
   */
  readonly drain: (handOver: (entry: SpooledPing) => Promise<void>) => Promise<void>;
  /**
   * The same for a receiver of many at a time: it gets the backlog, oldest first, and delivers as
   * many of them as it likes, but at least one.
   */
  readonly drainTogether: (handOver: DeliverPings) => Promise<void>;
  readonly close: () => Promise<void>;
};

export type DeliverPings = (waiting: readonly SpooledPing[]) => Promise<HandedOver>;

export class SpoolFull extends Error {}

/**
 * How many are being delivered at a time. In sequence they would take as many round trips, and the
 * last would appear late.
 */
const maxAtOnce = 2_000;
const maxBytes = 256 * 1024 * 1024;
/**
 * At this size, a file holds mostly delivered pings: under a constant flow it is never empty and
 * would grow until it is full.
 */
const largeBytes = 8 * 1024 * 1024;

export async function openPingSpool(path: string, log: Log): Promise<PingSpool> {
  makeFolder(dirname(path));
  let file: FileHandle = await open(path, 'a+', 0o600);
  await syncFolderOf(path);
  const queue = readEntries(await file.readFile('utf8'), log);
  /** How many of each monitor are in the queue or on their way to the disk. */
  const counts = new Map<string, number>();
  const count = ({ monitor }: SpooledPing, by: 1 | -1): void => {
    const left = (counts.get(monitor) ?? 0) + by;
    if (left === 0) counts.delete(monitor);
    else counts.set(monitor, left);
  };
  for (const entry of queue) count(entry, 1);
  let bytes = (await file.stat()).size;
  // A line that a crash or a full disk cut off must not swallow the next one.
  let isCut = bytes > 0;
  let linesInFile = queue.length;
  let largeFrom = largeBytes;
  let gathered: { readonly lines: string[]; readonly written: Promise<void> } | undefined;
  let writing: Promise<void> = Promise.resolve();
  let draining: Promise<void> | undefined;

  /** Writes all that came while the disk was busy with one write and one sync. */
  const flush = async (lines: readonly string[]): Promise<void> => {
    const text = `${isCut ? '\n' : ''}${lines.join('')}`;
    isCut = true;
    try {
      await file.appendFile(text);
      await file.datasync();
      isCut = false;
      linesInFile += lines.length;
    } catch (error) {
      bytes -= Buffer.byteLength(text);
      throw error;
    }
  };

  const append: PingSpool['append'] = async (entry) => {
    const line = lineOf(entry);
    if (bytes + line.length > maxBytes)
      throw new SpoolFull('the disk holds as many beats as it may');
    bytes += Buffer.byteLength(line);
    if (!gathered) {
      const lines: string[] = [];
      const written = writing.then(() => {
        gathered = undefined;
        return flush(lines);
      });
      writing = written.catch(() => undefined);
      gathered = { lines, written };
    }
    gathered.lines.push(line);
    count(entry, 1);
    try {
      await gathered.written;
    } catch (error) {
      count(entry, -1);
      throw error;
    }
    queue.push(entry);
  };

  /** Delivers the oldest of the backlog. @throws when one of them failed. */
  const drainSome = async (handOver: DeliverPings): Promise<void> => {
    const taken = queue.slice(0, maxAtOnce);
    const { handed, failures } = await handOver(taken);
    for (const entry of taken) if (handed.has(entry.ping.id)) count(entry, -1);
    // New pings are behind these.
    queue.splice(0, taken.length, ...taken.filter(({ ping }) => !handed.has(ping.id)));
    if (failures.length > 0) throw failures[0];
    if (handed.size === 0) throw new Error('none of the pings on the disk was accepted');
  };

  /** In turn on the disk: earlier pings are already there and wait, later ones queue behind. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = writing.then(work);
    writing = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  };

  /** A reader of the file finds all of it or what is left of it. */
  const writeAnew = async (): Promise<void> => {
    const lines = queue.map(lineOf).join('');
    const { size } = await file.stat();
    const aside = `${path}.next`;
    await rm(aside, { force: true });
    const next = await open(aside, 'ax+', 0o600);
    try {
      await next.appendFile(lines);
      await next.datasync();
      await rename(aside, path);
    } catch (error) {
      await next.close();
      throw error;
    }
    const old = file;
    file = next;
    isCut = false;
    linesInFile = queue.length;
    bytes -= size - Buffer.byteLength(lines);
    await old.close();
    await syncFolderOf(path);
  };

  const makeLean = async (): Promise<void> => {
    if (bytes < largeFrom || queue.length > maxAtOnce || 2 * queue.length > linesInFile) return;
    try {
      await inTurn(writeAnew);
      largeFrom = largeBytes;
    } catch (error) {
      // A full disk is left alone for a while.
      largeFrom = 2 * bytes;
      log.warn({ err: error }, 'could not rewrite the file of stored pings');
    }
  };

  const drainAll = async (handOver: DeliverPings): Promise<void> => {
    while (queue.length > 0) {
      await drainSome(handOver);
      await makeLean();
    }
    const cut = inTurn(async () => {
      if (queue.length > 0) return false;
      await file.truncate(0);
      bytes = 0;
      linesInFile = 0;
      isCut = false;
      return true;
    });
    if (!(await cut)) return drainAll(handOver);
  };

  const drainTogether = (handOver: DeliverPings): Promise<void> => {
    if (queue.length === 0) return Promise.resolve();
    draining ??= drainAll(handOver).finally(() => {
      draining = undefined;
    });
    return draining;
  };

  return {
    waiting: () => queue.length + (gathered?.lines.length ?? 0),
    holds: (monitor) => counts.has(monitor),
    append,
    drain: (handOver) => drainTogether((waiting) => handOverInLines(waiting, handOver)),
    drainTogether,
    close: async () => {
      await draining?.catch(() => undefined);
      await writing;
      await file.close();
    },
  };
}

async function syncFolderOf(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  await folder.sync().finally(() => folder.close());
}

/** On disk, as in addresses, a ping is called beat: files outlive releases. */
const entryShape = z
  .object({
    organisation: z.uuid(),
    monitor: z.uuid(),
    beat: pingMessage,
    uncorrected: z.literal(true).exactOptional(),
  })
  .transform(({ beat, ...entry }) => ({ ...entry, ping: beat }));

function readEntries(text: string, log: Log): SpooledPing[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      try {
        return [entryShape.parse(JSON.parse(line))];
      } catch (error) {
        // Only a line that a crash cut off is unreadable, and no caller was told that its ping is
        // stored.
        log.warn({ err: error }, 'dropped an unreadable ping from the disk');
        return [];
      }
    });
}

function lineOf({ ping, ...entry }: SpooledPing): string {
  return `${JSON.stringify({ ...entry, beat: ping })}\n`;
}
