import { connect } from 'node:net';
import { DatabaseLine, type LineOptions } from './store-database-line.ts';

/**
 * The connections of a pool as the network has them. Where a database moved to another machine, or a router forgot its connections, nobody closes
 * them: the system would go on sending into the void for a quarter of an hour. Whoever knows better has the silent ones cut.
 */
export type DatabaseSockets = {
  /** Begins a connection; the client waits for it itself. */
  readonly dial: (to: Place) => DatabaseLine;
  /** How much has been heard on each. */
  readonly heard: () => Heard;
  /** Cuts all of them that have said nothing since, and says how many. The client makes new ones. */
  readonly cutSilent: (since: Heard) => number;
  /** When the database last said anything on any of them, by the clock of performance. */
  readonly heardAt: () => number;
};

export type Heard = ReadonlyMap<DatabaseLine, number>;

/** What the client has read from the database's address: several hosts take turns. */
export type Place = { readonly path?: string | false; readonly host: readonly string[]; readonly port: readonly number[] };

export const createDatabaseSockets = (options: Omit<LineOptions, 'host' | 'port' | 'onHeard'>): DatabaseSockets => {
  const open = new Set<DatabaseLine>();
  let turn = 0;
  let heardAt = 0;
  const onHeard = (): void => {
    heardAt = performance.now();
  };

  /** The client takes all listeners away when it is done with a socket, so its end is looked for. */
  const forgetEnded = (): void => {
    for (const line of open) if (line.isClosed) open.delete(line);
  };

  return {
    dial: ({ path, host, port }) => {
      forgetEnded();
      const nth = turn % Math.max(1, host.length);
      turn += 1;
      const [name = 'localhost', number = 5432] = [host[nth], port[nth]];
      const socket = path ? connect(path) : connect({ host: name, port: number });
      // By its name a certificate is checked; both stand in what is said of a failure.
      const line = new DatabaseLine(socket, { ...options, host: name, port: number, onHeard });
      open.add(line);
      return line;
    },
    heard: () => {
      forgetEnded();
      return new Map([...open].map((line) => [line, line.heard]));
    },
    cutSilent: (since) => {
      const silent = [...since].filter(([line, bytes]) => !line.isClosed && line.heard === bytes);
      for (const [line] of silent) line.destroy();
      return silent.length;
    },
    heardAt: () => heardAt,
  };
};
