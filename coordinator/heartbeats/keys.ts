import { z } from 'zod';
import type { Starts } from '../../shared/actor/supervisor.ts';
import { createRecentCache } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { isOutdated } from '../../shared/bus/announcement.ts';
import { jsonIn, pingKeyMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import type { FindKey, KnownKey, PingRecords } from '../../shared/bus/pings.ts';
import { lastTokenOf, streams, subjects } from '../../shared/bus/subjects.ts';
import { createDigest, type Digest, elementOf } from '../../shared/checks/assignment.ts';
import { mergePings, withSettings } from '../../shared/checks/heartbeat/state.ts';
import type { AssignmentChange } from '../assignments/publishing.ts';
import type { Sql } from '../database/connect.ts';
import { listenTo } from '../database/listen.ts';
import { markDone, outboxChannel, waitingRows } from '../database/outbox.ts';
import { inTransaction, takeAdvisoryLock } from '../database/sql.ts';
import type { MonitorRow } from '../engine/queries.ts';
import type { Announcements } from '../probes/announcements.ts';
import {
  allPingKeys,
  allStates,
  countHeartbeats,
  endOldPingKeys,
  lockedStates,
  type PingKeyRow,
  pingKey,
  pingKeysByFingerprint,
  writeStates,
} from './queries.ts';

type Dependencies = {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly records: PingRecords;
  readonly clock: Clock;
};

/**
 * Before a heartbeat's assignment is published, its record on the bus gets the same schedule. A
 * probe must never judge a new schedule by an old deadline, nor a resumed monitor by the silence of
 * its pause.
 */
export function createPingSettings({ sql, bus, records, clock }: Dependencies) {
  const followSome = async (rows: readonly MonitorRow[]): Promise<void> => {
    const now = clock.now();
    const states = await inTransaction(sql, async (tx) => {
      const stored = await lockedStates(
        tx,
        rows.map(({ id }) => id),
      );
      const next = new Map(
        rows.flatMap((row) => {
          const state = stored.get(row.id);
          return state ? [[row.id, withSettings(state, termsOf(row), now)] as const] : [];
        }),
      );
      await writeStates(tx, new Map([...next].filter(([id, state]) => state !== stored.get(id))));
      return next;
    });
    await inGroups(rows, async (row) => {
      const state = states.get(row.id);
      if (!state) return; // It was deleted just now; its next change says so.
      await records.change(row.organisation_id, row.id, (seen) => {
        const next = seen ? mergePings(state, withSettings(seen, termsOf(row), now)) : state;
        return seen && JSON.stringify(next) === JSON.stringify(seen) ? seen : next;
      });
    });
  };

  return {
    follow: async (changes: readonly FollowedChange[]): Promise<void> => {
      const deleted = changes.filter(({ row }) => row === null);
      await inGroups(deleted, ({ monitor }) =>
        bus.purge(streams.lastPings.name, subjects.lastPings('*', monitor)),
      );
      const beating = changes.flatMap(({ row }) => (row?.type === 'heartbeat' ? [row] : []));
      for (let at = 0; at < beating.length; at += most)
        await followSome(beating.slice(at, at + most));
    },
  };
}

type FollowedChange = Pick<AssignmentChange, 'monitor' | 'row'>;

function termsOf({ config_version: version, paused_at }: MonitorRow) {
  return { version, paused: paused_at !== null };
}

/**
 * All heartbeat keys in memory, and the digest that a ping receiver should report. The digest is
 * updated with each change: ping receivers report every few seconds, and a sum over all keys for
 * each report would take a CPU core where there are many of both.
 *
 * While all are read again, what changes meanwhile is newer than what is read.
 */
export type KeyRing = {
  readonly find: (key: string) => KnownKey | undefined;
  readonly put: (key: string, known: KnownKey) => void;
  readonly drop: (key: string) => void;
  /** Replaces all keys with those of `read`. */
  readonly replace: (
    read: AsyncIterable<readonly (readonly [string, KnownKey])[]>,
  ) => Promise<void>;
  /** Of one organisation, or of all. */
  readonly digestOf: (organisation: string | null) => {
    readonly count: number;
    readonly digest: string;
  };
};

/**
 * The existing heartbeat keys. They are published for ping receivers as the outbox says, held in
 * memory for this coordinator's own address, and restored to a wiped bus with the record of each
 * monitor's pings.
 *
 * The bus's copy is restored when it has fewer keys or records than the database, or a stream had
 * to be made.
 */
export type PingBook = {
  readonly findKey: FindKey;
  readonly byHeart: KeyRing['find'];
  /**
   * The digest of the valid keys, of all organisations or of one, that a ping receiver should
   * report.
   */
  readonly digestOf: KeyRing['digestOf'];
  /** Settles when the bus is complete. */
  readonly restore: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type KeyBookDependencies = {
  readonly supervisor: Starts<'ping keys' | 'ping key check'>;
  readonly sql: Sql;
  readonly bus: Bus;
  readonly records: PingRecords;
  readonly clock: Clock;
  readonly log: Log;
  readonly announcements: Pick<Announcements, 'read' | 'refuse' | 'trust'>;
  readonly refreshMs: number;
  /** Aborts the wait at its start. */
  readonly signal?: AbortSignal;
};

const most = 500;
const atOnce = 200;
/**
 * A transaction waits for it, and the database ends transactions that are idle for four seconds.
 */
const storeMs = 2_000;
const maxRemembered = 10_000;
const heardWithinMs = 60_000;
/**
 * Limits of queries for unknown keys, all together: how many a second, and how long a job waits for
 * its 404 at most.
 */
const bounds = { mostPerSecond: 20, patienceMs: 1_000 };

const marker = z.object({ signed_by: z.array(z.string()) });

export async function openPingBook({
  supervisor,
  sql,
  bus,
  records,
  clock,
  log,
  announcements,
  refreshMs,
  signal,
}: KeyBookDependencies): Promise<PingBook> {
  const keys = createKeyRing();
  const lookUp = createKeyLookup({ ask: (key) => pingKey(sql, key), log, ...bounds });

  const readAll = async function* () {
    for await (const page of allPingKeys(sql))
      yield page.map((row) => [row.key, knownOf(row)] as const);
  };
  const reread = () => keys.replace(readAll());
  await reread();

  /**
   * Recent announcements. They arrive at once: anything not in here and older than a minute is not
   * new.
   */
  const newest = createRecentCache<string, number>(maxRemembered);
  const isOld = (subject: string, revision: number): boolean => {
    const held = newest.find(subject) ?? clock.now() - heardWithinMs;
    if (isOutdated(revision, held, clock.now())) {
      announcements.refuse(subject, 'outdated');
      return true;
    }
    newest.keep(subject, held <= clock.now() ? Math.max(revision, held) : revision);
    return false;
  };

  const heard = bus.subscribe(subjects.allPingKeys, (message) => {
    const { subject, data } = message;
    const said = announcements.read(message, subject);
    if (!said || isOld(subject, said.revision)) return;
    if (data.length === 0) return keys.drop(lastTokenOf(subject));
    const read = pingKeyMessage.safeParse(jsonIn(data));
    if (!read.success) return;
    const { organisation, monitor, until } = read.data;
    keys.put(lastTokenOf(subject), { organisation, monitor, until });
  });

  const publishKey = async (
    key: string,
    organisation: string,
    row: PingKeyRow | undefined,
  ): Promise<void> => {
    const subject = subjects.pingKey(organisation, key);
    await bus.store(subject, row ? JSON.stringify({ v: 1, ...knownOf(row) }) : '', {
      timeoutMs: storeMs,
    });
    if (row) keys.put(key, knownOf(row));
    else keys.drop(key);
  };

  /**
   * A row of the outbox only says that something changed; the database's present content is
   * published.
   */
  const drain = async (): Promise<void> => {
    if (!bus.isConnected()) return;
    for (let more = true; more; ) {
      more = await inTransaction(sql, async (tx) => {
        await takeAdvisoryLock(tx, 'pingKeys');
        const lines = await waitingRows(tx, 'ping_key', null, most);
        const owners = new Map(
          lines.map(({ organisation, payload }) => [payload.key, organisation]),
        );
        const rows = await pingKeysByFingerprint(tx, [...owners.keys()]);
        const byKey = new Map(rows.map((row) => [row.key, row]));
        await inGroups([...owners], async ([key, organisation]) => {
          if (organisation !== null) await publishKey(key, organisation, byKey.get(key));
        });
        await markDone(
          tx,
          lines.map(({ id }) => id),
        );
        return lines.length === most;
      });
    }
  };

  const restore = async (): Promise<void> => {
    let restored = 0;
    for await (const page of allPingKeys(sql)) {
      await inGroups(page, (row) => publishKey(row.key, row.organisation, row));
      restored += page.length;
    }
    for await (const page of allStates(sql))
      await inGroups(page, ({ organisation, monitor, state }) =>
        records.change(organisation, monitor, (seen) => (seen ? mergePings(state, seen) : state)),
      );
    await bus.store(subjects.pingKeysMarker, JSON.stringify({ signed_by: announcements.trust() }), {
      timeoutMs: storeMs,
    });
    log.info({ keys: restored }, 'restored heartbeat keys and last pings on the bus');
  };

  const isShort = async (): Promise<boolean> => {
    const [expected, onBus, values] = await Promise.all([
      countHeartbeats(sql),
      bus.streamState(streams.lastPings.name),
      bus.streamState(streams.pingKeys.name),
    ]);
    return (onBus?.messages ?? 0) < expected.monitors || (values?.messages ?? 0) < expected.keys;
  };

  /** Whether all keys on the bus are signed by the keys in use. */
  const areSigned = async (): Promise<boolean> => {
    const last = await bus.last(streams.assignments.name, subjects.pingKeysMarker);
    if (!last || !announcements.read(last, subjects.pingKeysMarker)) return false;
    const read = marker.safeParse(jsonIn(last.data));
    return read.success && announcements.trust().every((key) => read.data.signed_by.includes(key));
  };

  /**
   * A key that was made just now is not on the bus yet, and no deletion marker makes up for it in
   * the count: this is no sign of a loss.
   */
  const lacksSome = async (): Promise<boolean> => {
    if (!(await isShort())) return false;
    await drain();
    return isShort();
  };

  const check = async (): Promise<void> => {
    if (!bus.isConnected()) return;
    const made = await Promise.all(
      [streams.pingKeys, streams.lastPings, streams.pings].map((stream) =>
        bus.ensureStream(stream),
      ),
    );
    if (made.includes(true) || (await lacksSome()) || !(await areSigned())) await restore();
    for (const { key, organisation } of await endOldPingKeys(sql))
      await publishKey(key, organisation, undefined);
    await drain();
  };

  const onFailure = (what: string) => (error: unknown) => log.error({ err: error }, what);
  let checking: Promise<void> = Promise.resolve();
  const checkSoon = (): Promise<void> => {
    checking = checking.catch(() => undefined).then(check);
    return checking;
  };
  const drainSoon = (): void => {
    checking = checking
      .catch(() => undefined)
      .then(drain)
      .catch(onFailure('heartbeat keys could not be published'));
  };

  const hear = (topic: string): void => {
    if (topic === 'ping_key') drainSoon();
  };
  const listening = await listenTo(sql, outboxChannel, hear, { log, signal }).catch(
    (error: unknown) => {
      heard.stop();
      throw error;
    },
  );
  await checkSoon().catch(onFailure('the last beats on the bus could not be looked after'));
  const again = supervisor.ticker('ping key check', { everyMs: refreshMs, tick: checkSoon });
  const rereading = supervisor.ticker('ping keys', { everyMs: 60_000, tick: reread });
  const status = bus.onStatus((now) => {
    if (now === 'connected')
      void checkSoon().catch(onFailure('the last beats on the bus could not be looked after'));
  });

  return {
    findKey: async (key) => {
      const known = keys.find(key);
      if (known) return known;
      const row = await lookUp(key);
      if (row && (row.until === null || row.until > clock.now())) keys.put(key, knownOf(row));
      return row && knownOf(row);
    },
    byHeart: keys.find,
    digestOf: keys.digestOf,
    restore,
    close: async () => {
      heard.stop();
      status.stop();
      await Promise.all([again.stop(), rereading.stop(), listening.unlisten()]);
      await checking.catch(() => undefined);
    },
  };
}

export function createKeyRing(): KeyRing {
  const keys = new Map<string, KnownKey>();
  const whole = createDigest();
  const digests = new Map<string, Digest>();
  const empty = createDigest();
  let changed: Set<string> | undefined;

  const drop = (key: string): void => {
    const known = keys.get(key);
    if (!known) return;
    keys.delete(key);
    const element = elementOf(`${key}@0`);
    whole.remove(element);
    const own = digests.get(known.organisation);
    own?.remove(element);
    if (own?.count() === 0) digests.delete(known.organisation);
  };

  const put = (key: string, known: KnownKey): void => {
    const before = keys.get(key);
    if (before?.organisation !== known.organisation) {
      drop(key);
      const element = elementOf(`${key}@0`);
      whole.add(element);
      const own = digests.get(known.organisation) ?? createDigest();
      own.add(element);
      digests.set(known.organisation, own);
    }
    keys.set(key, known);
  };

  return {
    find: (key) => keys.get(key),
    put: (key, known) => {
      changed?.add(key);
      put(key, known);
    },
    drop: (key) => {
      changed?.add(key);
      drop(key);
    },
    replace: async (read) => {
      const since = new Set<string>();
      changed = since;
      try {
        const seen = new Set<string>();
        for await (const page of read) {
          for (const [key, known] of page) {
            seen.add(key);
            if (!since.has(key)) put(key, known);
          }
        }
        for (const key of keys.keys()) if (!seen.has(key) && !since.has(key)) drop(key);
      } finally {
        changed = undefined;
      }
    },
    digestOf: (organisation) => {
      const digest = organisation === null ? whole : (digests.get(organisation) ?? empty);
      return { count: digest.count(), digest: digest.text() };
    },
  };
}

/**
 * A query for a key that is not in memory, limited in number and in time: a caller gets "no" rather
 * than a delay. So a flood of made-up keys causes only this many queries a second, and none while
 * the database is silent.
 *
 * Once an answer is overdue nothing is asked until it came, or the connection broke.
 */
type KeyLookup<Row> = (key: string) => Promise<Row | undefined>;

type KeysDependencies<Row> = {
  readonly ask: (key: string) => Promise<Row | undefined>;
  readonly log: Log;
  readonly mostPerSecond: number;
  readonly patienceMs: number;
};

export function createKeyLookup<Row>({
  ask,
  log,
  mostPerSecond,
  patienceMs,
}: KeysDependencies<Row>): KeyLookup<Row> {
  let asked = 0;
  let since = performance.now();
  let overdue = 0;

  const mayAsk = (): boolean => {
    const now = performance.now();
    if (now - since > 1_000) {
      asked = 0;
      since = now;
    }
    asked += 1;
    return overdue === 0 && asked <= mostPerSecond;
  };

  return async (key) => {
    if (!mayAsk()) return undefined;
    const answer = ask(key).catch((error: unknown) => {
      log.warn({ err: error }, 'could not look up a heartbeat key');
      return undefined;
    });
    const { promise: patienceOver, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => {
      overdue += 1;
      log.warn(
        'the database is too slow to look up heartbeat keys: uncached keys count as unknown meanwhile',
      );
      void answer.finally(() => {
        overdue -= 1;
      });
      resolve(undefined);
    }, patienceMs);
    try {
      return await Promise.race([answer, patienceOver]);
    } finally {
      clearTimeout(timer);
    }
  };
}

async function inGroups<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < items.length; at += atOnce)
    await Promise.all(items.slice(at, at + atOnce).map(work));
}

function knownOf({ organisation, monitor, until }: PingKeyRow): KnownKey {
  return { organisation, monitor, until };
}
