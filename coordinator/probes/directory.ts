import { continentToken } from '../../shared/base/continents.ts';
import { isRecord } from '../../shared/base/json.ts';
import type { Log } from '../../shared/base/log.ts';
import { type Batch, readBatch, seqAt } from '../../shared/bus/batch.ts';
import { isSignedBy, type Signed } from '../../shared/bus/identity.ts';
import { batchVersion, strictJsonOf } from '../../shared/bus/messages.ts';
import type { Delivered } from '../../shared/bus/nats.ts';
import type { Sql } from '../database/connect.ts';
import type { RefusedReason } from '../health/refusals.ts';
import { allProbes, type ProbeRow } from './queries.ts';

/**
 * The database's probes in memory. They are read again when the outbox reports a change, from time
 * to time, and when an unknown sender appears, which may have been made just now.
 */
export type Directory = {
  readonly all: () => readonly ProbeRow[];
  readonly byId: (id: string) => ProbeRow | undefined;
  readonly byKey: (key: number) => ProbeRow | undefined;
  readonly refresh: () => Promise<void>;
  /** The probe, also when it was made a moment ago; reads at most ten times a second. */
  readonly find: (id: string) => Promise<ProbeRow | undefined>;
  readonly onChange: (listener: () => void) => void;
};

const patienceMs = 100;

export async function createDirectory({
  sql,
  log,
}: {
  readonly sql: Sql;
  readonly log: Log;
}): Promise<Directory> {
  let rows: readonly ProbeRow[] = [];
  let ids = new Map<string, ProbeRow>();
  let keys = new Map<number, ProbeRow>();
  /** When an unknown sender last caused a read. */
  let askedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> = Promise.resolve();
  const listeners: (() => void)[] = [];

  const read = async () => {
    rows = await allProbes(sql);
    ids = new Map(rows.map((row) => [row.id, row]));
    keys = new Map(rows.map((row) => [row.key, row]));
    for (const listener of listeners) listener();
  };
  const refresh = (): Promise<void> => {
    // A read in progress may have begun before the change: wait for it, then read again.
    const next = reading.catch(() => undefined).then(read);
    reading = next;
    return next;
  };
  await refresh();

  return {
    all: () => rows,
    byId: (id) => ids.get(id),
    byKey: (key) => keys.get(key),
    refresh,
    find: async (id) => {
      if (ids.has(id)) return ids.get(id);
      // A second message of the same unknown sender waits for the read that the first one caused.
      const isAsked = performance.now() - askedAt <= patienceMs;
      if (!isAsked) askedAt = performance.now();
      await (isAsked ? reading : refresh()).catch((error: unknown) =>
        log.warn({ err: error }, 'could not reload the probes'),
      );
      return ids.get(id);
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

/**
 * A message with a verified sender and the right form. The partition judges whether its results may
 * count.
 */
export type Accepted = {
  readonly delivered: Delivered;
  readonly probe: ProbeRow;
  readonly batch: Batch;
};
type Intake =
  | { readonly is: 'accepted'; readonly accepted: Accepted }
  | { readonly is: 'refused'; readonly probe: string; readonly reason: RefusedReason };

const maxBytes = 1024 * 1024;

type SenderFault = Extract<RefusedReason, 'unknown_probe' | 'revoked_probe' | 'not_signed'>;

/** The registered probe that signed this message, if any. */
export async function senderOf(
  id: string,
  message: Signed,
  directory: Pick<Directory, 'find' | 'byId' | 'refresh'>,
  now: number,
): Promise<ProbeRow | { readonly refused: SenderFault }> {
  const probe = await directory.find(id);
  if (!probe) return { refused: 'unknown_probe' };
  if (probe.revoked_at !== null) return { refused: 'revoked_probe' };
  if (isSigned(probe, message, now)) return probe;
  // It may have received new credentials a moment ago.
  await directory.refresh();
  const known = directory.byId(id);
  return known && isSigned(known, message, now) ? known : { refused: 'not_signed' };
}

function isSigned(probe: ProbeRow, message: Signed, now: number): boolean {
  return isSignedBy(
    probe.keys.filter(({ until }) => until === null || until > now).map(({ key }) => key),
    message,
  );
}

/**
 * Judges one message of the stream of results: sender, signature, form, and that subject and body
 * agree.
 */
export async function judge(
  delivered: Delivered,
  partition: number,
  directory: Directory,
  now: number,
): Promise<Intake> {
  const [, continent = '', , id = ''] = delivered.subject.split('.');
  const refuse = (reason: RefusedReason): Intake => ({ is: 'refused', probe: id, reason });
  if (delivered.data.length > maxBytes) return refuse('oversized');
  const probe = await senderOf(id, delivered, directory, now);
  if ('refused' in probe) return refuse(probe.refused);
  if (continentToken(probe.continent) !== continent) return refuse('wrong_subject');
  const body = parse(delivered.data);
  const batch = readBatch(body);
  if (!batch) return refuse(isOfOtherVersion(body) ? 'unknown_version' : 'malformed');
  if (batch.probe !== id) return refuse('wrong_subject');
  if (batch.partition !== partition) return refuse('wrong_partition');
  if (!rises(batch)) return refuse('malformed');
  return { is: 'accepted', accepted: { delivered, probe, batch } };
}

function parse(data: Uint8Array): unknown {
  try {
    return strictJsonOf(data);
  } catch {
    return undefined; // An unreadable message is refused as malformed, like one of the wrong form.
  }
}

function isOfOtherVersion(body: unknown): boolean {
  return isRecord(body) && 'v' in body && body.v !== batchVersion;
}

function rises(batch: Batch): boolean {
  let last = batch.after ?? 0;
  for (let place = 0; place < batch.monitors.length; place += 1) {
    const seq = seqAt(batch, place);
    if (seq <= last) return false;
    last = seq;
  }
  return true;
}
