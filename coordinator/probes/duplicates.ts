import { z } from 'zod';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { jsonOf, type PresenceMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import type { Directory } from './directory.ts';
import type { ProbeRow } from './queries.ts';

/**
 * The processes that run as one probe. There should be one. A second one that started later is the
 * intended one (the probe moved, or its machine hung), so the older is told to end. Two that keep
 * displacing each other are left alone: something restarts both again and again, and only people
 * can say which one is intended.
 *
 * A process is forgotten when it was silent for a while.
 */
export type Sessions = {
  readonly known: readonly Session[];
  /** Which processes were told to end, and when. */
  readonly told: readonly { readonly id: string; readonly at: number }[];
};

type Session = {
  readonly id: string;
  readonly began: number;
  readonly first_at: number;
  readonly heard_at: number;
};

export const noSessions: Sessions = { known: [], told: [] };

/** A process that is silent for this long is gone. */
const silentMs = 15_000;
/** At most this many are told to end within this time. */
const maxTold = 3;
const reportedWithinMs = 300_000;

/** `up_ms`: how long the process has run, by its own count, so that no clock has to be right. */
type Said = { readonly id: string; readonly up_ms: number };

/** `isOlder`: whether a later process runs as the same probe; `ends`: whether to tell it to end. */
type SessionVerdict = {
  readonly sessions: Sessions;
  readonly isOlder: boolean;
  readonly ends: boolean;
};

export function noteSession(
  { known, told }: Sessions,
  { id, up_ms }: Said,
  now: number,
): SessionVerdict {
  const alive = known.filter((session) => session.id !== id && now - session.heard_at < silentMs);
  const before = known.find((session) => session.id === id);
  // A delayed message makes it look younger than it is.
  const began = Math.min(before?.began ?? Number.POSITIVE_INFINITY, now - up_ms);
  const firstAt = before?.first_at ?? now;
  // By our own clock: a delayed message was sent long before it arrived.
  const spokenAt = began + up_ms;
  // A process that has not been heard since this one started may be its predecessor, however our
  // own standstills shifted their ages. And one that started only after this message was sent may
  // be its successor.
  const isOlder = alive.some(
    (other) =>
      other.heard_at > firstAt &&
      spokenAt > other.began &&
      (other.began > began || (other.began === began && other.id > id)),
  );
  const lately = told.filter(({ at }) => now - at < reportedWithinMs);
  const ends = isOlder && (lately.some((each) => each.id === id) || lately.length < maxTold);
  return {
    sessions: {
      known: [...alive, { id, began, first_at: firstAt, heard_at: now }],
      told: ends && !lately.some((each) => each.id === id) ? [...lately, { id, at: now }] : lately,
    },
    isOlder,
    ends,
  };
}

/**
 * One connection for each probe: a newer one displaces the older, so that a returning probe need
 * not wait until the server notices that it had gone. Two that keep displacing each other have the
 * same credentials; then the operator is notified, and they are left alone for a while.
 */
type Displacer = {
  /** The address of a key's newest connection, as the server sees it. */
  readonly addressOf: (key: string) => string | undefined;
  readonly stop: () => void;
};

type Dependencies = {
  /** On the system account, which receives connection events. */
  readonly system: Pick<Bus, 'subscribe' | 'request'>;
  readonly account: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Directory;
  readonly isLeader: () => boolean;
  readonly onTwice: (probe: ProbeRow) => void;
};

type Connection = {
  readonly server: string;
  readonly client: number;
  readonly address: string | undefined;
};

const event = z.object({
  server: z.object({ id: z.string() }),
  client: z.object({ id: z.number(), user: z.string().default(''), host: z.string().optional() }),
});
const listed = z.object({
  server: z.object({ id: z.string() }),
  data: z.object({
    connections: z
      .array(
        z.object({
          cid: z.number(),
          authorized_user: z.string().default(''),
          ip: z.string().optional(),
        }),
      )
      .nullish(),
  }),
});

/** After this many within a minute, two are assumed to share their credentials. */
const tooOften = 3;
const minuteMs = 60_000;
const restMs = 5_000;

export async function watchConnections(dependencies: Dependencies): Promise<Displacer> {
  const { system, account, clock, log, directory, isLeader, onTwice } = dependencies;
  const connections = new Map<string, Connection>();
  const displaced = new Map<string, number[]>();

  const known = (user: string): ProbeRow | undefined =>
    directory.all().find(({ keys }) => keys.some(({ key }) => key === user));

  /**
   * The probe of this connection, also when the probe or its credentials were made a moment ago.
   */
  const probeOf = async (user: string): Promise<ProbeRow | undefined> => {
    const found = known(user);
    if (found) return found;
    await directory
      .refresh()
      .catch((error: unknown) => log.warn({ err: error }, 'could not reload the probes'));
    return known(user);
  };

  const end = async (probe: ProbeRow, { server, client }: Connection): Promise<void> => {
    const now = clock.now();
    const times = (displaced.get(probe.id) ?? []).filter((at) => at > now - minuteMs);
    const last = times.at(-1);
    if (last !== undefined && now - last < restMs) return;
    times.push(now);
    displaced.set(probe.id, times);
    log.info({ probe: probe.id, name: probe.name }, 'ended an older connection of a probe');
    await system
      .request(`$SYS.REQ.SERVER.${server}.KICK`, JSON.stringify({ cid: client }))
      .catch((error: unknown) =>
        log.info(
          { err: error, probe: probe.id },
          'the bus cannot end a connection; it ends by itself once it is dead',
        ),
      );
    if (times.length >= tooOften) onTwice(probe);
  };

  const connected = system.subscribe(`$SYS.ACCOUNT.${account}.CONNECT`, async (message) => {
    const heard = event.safeParse(jsonOf(message.data));
    if (!heard.success) return;
    const { server, client } = heard.data;
    const older = connections.get(client.user);
    connections.set(client.user, { server: server.id, client: client.id, address: client.host });
    const probe = older && isLeader() ? await probeOf(client.user) : undefined;
    if (probe && older) await end(probe, older);
  });
  const gone = system.subscribe(`$SYS.ACCOUNT.${account}.DISCONNECT`, (message) => {
    const heard = event.safeParse(jsonOf(message.data));
    if (heard.success && connections.get(heard.data.client.user)?.client === heard.data.client.id)
      connections.delete(heard.data.client.user);
  });
  /**
   * Servers that have reported earlier connections, and those being asked; one that did not answer
   * is asked again.
   */
  const learnt = new Set<string>();
  const asking = new Set<string>();
  const learn = async (subject: string): Promise<void> => {
    const before = await system
      .request(subject, JSON.stringify({ acc: account, auth: true, limit: 10_000 }))
      .then((message) => listed.safeParse(jsonOf(message.data)))
      .catch(
        (error: unknown) =>
          void log.info({ err: error }, 'could not list the connections to the bus'),
      );
    if (!before?.success) return;
    const { server, data } = before.data;
    learnt.add(server.id);
    for (const { cid, authorized_user, ip } of data.connections ?? [])
      if (!connections.has(authorized_user))
        connections.set(authorized_user, { server: server.id, client: cid, address: ip });
  };
  // Of several servers one answers here. Each of the others is asked when it first reports itself,
  // as all do every few seconds.
  await learn(`$SYS.REQ.ACCOUNT.${account}.CONNZ`);
  const servers = system.subscribe('$SYS.SERVER.*.STATSZ', async ({ subject }) => {
    const [, , id = ''] = subject.split('.');
    if (learnt.has(id) || asking.has(id)) return;
    asking.add(id);
    await learn(`$SYS.REQ.SERVER.${id}.CONNZ`);
    asking.delete(id);
  });

  return {
    addressOf: (key) => connections.get(key)?.address,
    stop: () => {
      servers.stop();
      connected.stop();
      gone.stop();
    },
  };
}

/**
 * Two processes that run as one probe. Their presence shows it, whatever the server's version, and
 * the older one is told to end.
 */
export type DuplicateProbes = {
  /**
   * Whether a later process has displaced the sender of this presence, and whether to tell it to
   * end.
   */
  readonly hear: (
    probe: ProbeRow,
    message: Pick<PresenceMessage, 'session' | 'up_ms' | 'assignments'>,
  ) => { readonly isOlder: boolean; readonly ends: boolean };
};

type DuplicatesDependencies = {
  readonly log: Log;
  readonly onTwice: (probe: ProbeRow) => void;
  /**
   * A process follows another of its probe and has an empty folder: what it must know was delivered
   * to the other, and would not come again.
   */
  readonly onEmpty: (probe: ProbeRow) => void;
};

/** Until a process that still has nothing is sent everything again; doubled each time. */
const emptyAgainMs = 1_000;
const maxEmptyAgainMs = 120_000;

export function createDuplicateProbes({
  log,
  onTwice,
  onEmpty,
}: DuplicatesDependencies): DuplicateProbes {
  const sessionsOf = new Map<string, Sessions>();
  const emptied = new Map<string, { readonly at: number; readonly againMs: number }>();
  const noteEmpty = (probe: ProbeRow, now: number): void => {
    const last = emptied.get(probe.id);
    const since = last === undefined ? Number.POSITIVE_INFINITY : now - last.at;
    if (last && since < last.againMs) return;
    const againMs = last && since < maxEmptyAgainMs ? 2 * last.againMs : emptyAgainMs;
    emptied.set(probe.id, { at: now, againMs: Math.min(againMs, maxEmptyAgainMs) });
    onEmpty(probe);
  };
  return {
    hear: (probe, { session, up_ms, assignments }) => {
      const now = performance.now();
      const before = sessionsOf.get(probe.id) ?? noSessions;
      const { sessions, isOlder, ends } = noteSession(before, { id: session, up_ms }, now);
      const isSuccessor = before.known.some(({ id }) => id !== session);
      if (!isOlder && assignments.roster_epoch === 0 && isSuccessor) noteEmpty(probe, now);
      sessionsOf.set(probe.id, sessions);
      if (isOlder) {
        log.warn(
          { probe: probe.id, name: probe.name, session, ends },
          'an older process still runs as a probe that has a newer one',
        );
        onTwice(probe);
      }
      return { isOlder, ends };
    },
  };
}
