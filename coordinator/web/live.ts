import type { FastifyReply } from 'fastify';
import { newId } from '../../shared/base/crypto.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Sql } from '../database/connect.ts';

/** Tells when something changed in an organisation that its pages show: from now on, and at once what changed since the moment that a page was made. */
export type ChangeStream = {
  readonly moment: () => string;
  readonly onChange: (organisation: string, listener: () => void, since?: string) => () => void;
};

/** Pages that are being looked at, each with one stream over which it hears that something changed; what, it asks for itself. */
export type LivePages = {
  /** `since`: when the page was made, or what a stream that broke off last said. */
  readonly open: (organisation: string, reply: FastifyReply, since?: string) => void;
  readonly close: () => void;
};

/** So many tabs of one organisation are told; a page beyond them is refreshed by hand. */
const maxStreams = 200;
/** Proxies cut off what is silent for long, and pages take it for lost (`script/live.ts`). */
const signOfLifeMs = 10_000;
/** Then the browser comes again, and shows anew who it is. */
const longestMs = 15 * 60_000;
const comeAgainMs = 3_000;

export const createLivePages = ({ moment, onChange }: ChangeStream): LivePages => {
  const streams = new Map<string, Set<() => void>>();

  const open: LivePages['open'] = (organisation, reply, since) => {
    const own = streams.get(organisation) ?? new Set();
    if (own.size >= maxStreams) {
      // 204 tells the browser not to come again.
      void reply.code(204).send();
      return;
    }
    streams.set(organisation, own);
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
    });
    // The browser sends the last id along when it comes again: what it missed meanwhile is told then.
    raw.write(`retry: ${comeAgainMs}\nid: ${moment()}\n\n`);
    const tell = (): boolean => raw.write(`id: ${moment()}\nevent: changed\ndata: 1\n\n`);
    const stop = onChange(organisation, tell, since);
    const signs = setInterval(() => raw.write(`id: ${moment()}\nevent: alive\ndata: 1\n\n`), signOfLifeMs);
    const end = (): void => {
      clearInterval(signs);
      clearTimeout(limit);
      stop();
      own.delete(end);
      if (own.size === 0) streams.delete(organisation);
      raw.end();
    };
    const limit = setTimeout(end, longestMs);
    own.add(end);
    raw.on('close', end);
    raw.on('error', end);
  };

  return {
    open,
    close: () => {
      for (const own of [...streams.values()]) for (const end of [...own]) end();
    },
  };
};

/** Hears from the database that something changed in an organisation, whoever changed it, and passes it on to who looks at it. */
export type Changes = {
  /** Now, as whoever listens later says from when on: a word to hand back. */
  readonly moment: () => string;
  /**
   * Calls the listener after each change, at most once a second; until what it gives back is called. At once when something changed `since` that moment,
   * or may have: a page that was made then does not show it.
   */
  readonly onChange: (organisation: string, listener: () => void, since?: string) => () => void;
  readonly close: () => Promise<void>;
};

/** As the migration 017-changed names it. */
const channel = 'changed';

/** In an outage much changes at once; nobody reads faster. */
const atMostEveryMs = 1_000;

/** By how much the clocks of two coordinators, and the ways to them, may differ. */
const marginMs = 5_000;
/** So many organisations' last changes are remembered before all are forgotten, which costs open pages one look. */
const maxRemembered = 20_000;

/** A moment: in the order of this process, and by the clock. */
type Mark = { readonly order: number; readonly at: number };

type Watched = { readonly listeners: Set<() => void>; told: number; timer: NodeJS.Timeout | undefined };

type Listens = (...of: Parameters<Sql['listen']>) => Promise<{ readonly unlisten: () => Promise<void> }>;
type Dependencies = { readonly sql: { readonly listen: Listens }; readonly clock: Clock; readonly log: Pick<Log, 'warn'> };

export const createChanges = ({ sql, clock, log }: Dependencies): Changes => {
  const organisations = new Map<string, Watched>();
  const own = newId();
  let order = 0;
  const mark = (): Mark => {
    order += 1;
    return { order, at: clock.now() };
  };
  /** When each organisation last changed, of all since `heardFrom`; undefined while nothing is heard. */
  const last = new Map<string, Mark>();
  let heardFrom: Mark | undefined;
  let listening: Promise<{ readonly unlisten: () => Promise<void> }> | undefined;

  const tell = (watched: Watched): void => {
    watched.timer = undefined;
    watched.told = performance.now();
    for (const listener of watched.listeners) listener();
  };
  const note = (organisation: string): void => {
    if (last.size >= maxRemembered && !last.has(organisation)) {
      last.clear();
      heardFrom = mark();
    }
    last.set(organisation, mark());
  };
  const hear = (organisation: string): void => {
    note(organisation);
    const watched = organisations.get(organisation);
    if (!watched || watched.timer) return;
    const wait = watched.told + atMostEveryMs - performance.now();
    if (wait <= 0) tell(watched);
    else watched.timer = setTimeout(() => tell(watched), wait);
  };
  // What was changed before it was listened to, or while the connection was away, was told to nobody.
  const hearAll = (): void => {
    heardFrom = mark();
    for (const organisation of organisations.keys()) hear(organisation);
  };
  // The first page that is looked at pays for the connection; where nobody looks there is none.
  const listen = (): void => {
    listening ??= sql.listen(channel, hear, hearAll);
    listening.catch((error: unknown) => {
      listening = undefined;
      log.warn({ err: error }, 'changes are not heard of; it is tried again with the next page');
    });
  };

  /** Whether it changed since then, as far as can be told. While nothing is heard, all will be told when something is. */
  const mayHaveChanged = (organisation: string, since: string): boolean => {
    if (heardFrom === undefined) return false;
    const [, by, place, at] = /^([0-9a-f-]{36})\.(\d{1,15})\.(\d{1,16})$/.exec(since) ?? [];
    if (place === undefined || at === undefined) return true;
    const changed = last.get(organisation) ?? heardFrom;
    // Of our own the order is known for certain, whatever the clock says.
    return by === own
      ? Number(place) < Math.max(heardFrom.order, changed.order)
      : Number(at) - marginMs < Math.max(heardFrom.at, changed.at);
  };

  return {
    moment: () => {
      const { order: place, at } = mark();
      return `${own}.${place}.${at}`;
    },
    onChange: (organisation, listener, since) => {
      const watched = organisations.get(organisation) ?? { listeners: new Set(), told: Number.NEGATIVE_INFINITY, timer: undefined };
      organisations.set(organisation, watched);
      watched.listeners.add(listener);
      listen();
      if (since !== undefined && mayHaveChanged(organisation, since)) listener();
      return () => {
        watched.listeners.delete(listener);
        if (watched.listeners.size > 0) return;
        clearTimeout(watched.timer);
        organisations.delete(organisation);
      };
    },
    close: async () => {
      for (const { timer } of organisations.values()) clearTimeout(timer);
      organisations.clear();
      // That it was never heard is no reason not to end.
      await (await listening?.catch(() => undefined))?.unlisten();
    },
  };
};
