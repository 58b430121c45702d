import type { Log } from '../../shared/base/log.ts';
import type { Sql } from '../store/database.ts';

/** Hears from the database that something changed in an organisation, whoever changed it, and passes it on to who looks at it. */
export type Changes = {
  /** Calls the listener after each change, at most once a second; until what it gives back is called. */
  readonly onChange: (organisation: string, listener: () => void) => () => void;
  readonly close: () => Promise<void>;
};

/** As the migration 017-changed names it. */
const channel = 'changed';

/** In an outage much changes at once; nobody reads faster. */
const atMostEveryMs = 1_000;

type Watched = { readonly listeners: Set<() => void>; told: number; timer: NodeJS.Timeout | undefined };

export const createChanges = ({ sql, log }: { readonly sql: Sql; readonly log: Pick<Log, 'warn'> }): Changes => {
  const organisations = new Map<string, Watched>();
  let listening: Promise<{ readonly unlisten: () => Promise<void> }> | undefined;

  const tell = (watched: Watched): void => {
    watched.timer = undefined;
    watched.told = performance.now();
    for (const listener of watched.listeners) listener();
  };
  const hear = (organisation: string): void => {
    const watched = organisations.get(organisation);
    if (!watched || watched.timer) return;
    const wait = watched.told + atMostEveryMs - performance.now();
    if (wait <= 0) tell(watched);
    else watched.timer = setTimeout(() => tell(watched), wait);
  };
  let wasAway = false;
  // What was changed while the connection was away was told to nobody.
  const hearAll = (): void => {
    if (wasAway) for (const organisation of organisations.keys()) hear(organisation);
    wasAway = true;
  };
  // The first page that is looked at pays for the connection; where nobody looks there is none.
  const listen = (): void => {
    listening ??= sql.listen(channel, hear, hearAll);
    listening.catch((error: unknown) => {
      listening = undefined;
      log.warn({ err: error }, 'changes are not heard of; it is tried again with the next page');
    });
  };

  return {
    onChange: (organisation, listener) => {
      const watched = organisations.get(organisation) ?? { listeners: new Set(), told: 0, timer: undefined };
      organisations.set(organisation, watched);
      watched.listeners.add(listener);
      listen();
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
