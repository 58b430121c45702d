import { newId } from '../../shared/base/crypto.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Sql } from '../store/store-database.ts';

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
const mostRemembered = 20_000;

/** A moment: in the order of this process, and by the clock. */
type Mark = { readonly order: number; readonly at: number };

type Watched = { readonly listeners: Set<() => void>; told: number; timer: NodeJS.Timeout | undefined };

type Listens = (...of: Parameters<Sql['listen']>) => Promise<{ readonly unlisten: () => Promise<void> }>;
type Parts = { readonly sql: { readonly listen: Listens }; readonly clock: Clock; readonly log: Pick<Log, 'warn'> };

export const createChanges = ({ sql, clock, log }: Parts): Changes => {
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
    if (last.size >= mostRemembered && !last.has(organisation)) {
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
