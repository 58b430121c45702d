import type { FastifyReply } from 'fastify';
import { newId } from '../../shared/base/crypto.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Listening } from '../database/listen.ts';

/**
 * Notifies when something on an organisation's pages changed: from now on, and at once if it
 * changed since the moment that a page was made.
 */
export type ChangeStream = {
  readonly moment: () => string;
  readonly onChange: (organisation: string, listener: () => void, since?: string) => () => void;
};

/** Open pages, each with one stream that announces changes; the page itself reads what changed. */
export type LivePages = {
  /** `since`: when the page was made, or the last id of a stream that broke off. */
  readonly open: (organisation: string, reply: FastifyReply, since?: string) => void;
  readonly close: () => void;
};

/** The most streams of one organisation; further tabs must be refreshed by hand. */
const maxStreams = 200;
/**
 * Proxies cut streams that are silent for long, and pages consider them lost (`script/live.ts`).
 */
const signOfLifeMs = 10_000;
/** After this the browser reconnects, and authenticates again. */
const longestMs = 15 * 60_000;
const comeAgainMs = 3_000;

export function createLivePages({ moment, onChange }: ChangeStream): LivePages {
  const streams = new Map<string, Set<() => void>>();

  const open: LivePages['open'] = (organisation, reply, since) => {
    const own = streams.get(organisation) ?? new Set();
    if (own.size >= maxStreams) {
      // 204 tells the browser not to reconnect.
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
    // The browser sends the last id when it reconnects: changes that it missed are announced then.
    raw.write(`retry: ${comeAgainMs}\nid: ${moment()}\n\n`);
    const tell = (): boolean => raw.write(`id: ${moment()}\nevent: changed\ndata: 1\n\n`);
    const stop = onChange(organisation, tell, since);
    const signs = setInterval(
      () => raw.write(`id: ${moment()}\nevent: alive\ndata: 1\n\n`),
      signOfLifeMs,
    );
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
}

/**
 * Listens to the database for changes in an organisation, whoever made them, and passes them to its
 * open pages.
 */
export type Changes = {
  /** The present moment, as a token for a later `since`. */
  readonly moment: () => string;
  /**
   * Calls the listener after each change, at most once a second, until the returned function is
   * called. Calls it at once when something changed `since` that moment, or may have: a page that
   * was made then does not show it.
   */
  readonly onChange: (organisation: string, listener: () => void, since?: string) => () => void;
  readonly close: () => Promise<void>;
};

/** As the trigger tell_changed() sends them. */
const channel = 'changed';

/** An outage changes much at once; no one reads faster. */
const atMostEveryMs = 1_000;

/**
 * The largest difference between the clocks of two coordinators, including their connections'
 * delays.
 */
const marginMs = 5_000;
/**
 * The last changes of this many organisations are remembered. Beyond that all are dropped, which
 * costs open pages one refresh.
 */
const maxRemembered = 20_000;

/** A moment: in the order of this process, and by the clock. */
type Mark = { readonly order: number; readonly at: number };

type Watched = {
  readonly listeners: Set<() => void>;
  told: number;
  timer: NodeJS.Timeout | undefined;
};

type Dependencies = {
  /** `onListening` is called each time when it begins: what was said before, no one heard. */
  readonly listen: (
    channel: string,
    hear: (line: string) => void,
    onListening: () => void,
  ) => Promise<Listening>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
};

export function createChanges({ listen: listenTo, clock, log }: Dependencies): Changes {
  const organisations = new Map<string, Watched>();
  const own = newId().slice(-12);
  let order = 0;
  const mark = (): Mark => {
    order += 1;
    return { order, at: clock.now() };
  };
  /**
   * When each organisation last changed, of all since `heardFrom`; undefined while there is no
   * connection.
   */
  const last = new Map<string, Mark>();
  let heardFrom: Mark | undefined;
  let listening: Promise<Listening> | undefined;

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
  // No one received what changed before listening began, or while the connection was lost.
  const hearAll = (): void => {
    heardFrom = mark();
    for (const organisation of organisations.keys()) hear(organisation);
  };
  // The first page makes the connection: one that is made later was not missed by it.
  const listen = (): void => {
    listening ??= listenTo(channel, hear, hearAll);
    listening.catch((error: unknown) => {
      listening = undefined;
      log.warn({ err: error }, 'not subscribed to changes; retrying with the next page');
    });
  };

  /**
   * Whether it may have changed since then. While there is no connection, all listeners are called
   * as soon as there is one.
   */
  const mayHaveChanged = (organisation: string, since: string): boolean => {
    if (heardFrom === undefined) return false;
    const [, by, place, at] = /^([0-9a-f]{12})\.(\d{1,15})\.(\d{1,16})$/.exec(since) ?? [];
    if (place === undefined || at === undefined) return true;
    const changed = last.get(organisation) ?? heardFrom;
    // For tokens of our own the order is certain, whatever the clock says.
    return by === own
      ? Number(place) < Math.max(heardFrom.order, changed.order)
      : Number(at) - marginMs < Math.max(heardFrom.at, changed.at);
  };

  return {
    moment: () => {
      listen();
      const { order: place, at } = mark();
      return `${own}.${place}.${at}`;
    },
    onChange: (organisation, listener, since) => {
      const watched = organisations.get(organisation) ?? {
        listeners: new Set(),
        told: Number.NEGATIVE_INFINITY,
        timer: undefined,
      };
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
      // A failed listener is no reason not to close.
      await (await listening?.catch(() => undefined))?.unlisten();
    },
  };
}
