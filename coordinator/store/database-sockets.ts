import { connect, type Socket } from 'node:net';

/**
 * The connections of a pool as the network has them. Where a database moved to another machine, or a router forgot its connections, nobody closes
 * them: the system would go on sending into the void for a quarter of an hour. Whoever knows better has the silent ones cut.
 */
export type DatabaseSockets = {
  /** Begins a connection; the client waits for it itself. */
  readonly dial: (to: Place) => Socket;
  /** How much has been heard on each. */
  readonly heard: () => Heard;
  /** Cuts all of them that have said nothing since, and says how many. The client makes new ones. */
  readonly cutSilent: (since: Heard) => Promise<number>;
};

export type Heard = ReadonlyMap<Socket, number>;

/** What the client has read from the database's address: several hosts take turns. */
export type Place = { readonly path?: string | false; readonly host: readonly string[]; readonly port: readonly number[] };

export const createDatabaseSockets = (): DatabaseSockets => {
  const open = new Set<Socket>();
  let turn = 0;

  /** The client takes all listeners away when it is done with a socket, so its end is looked for. */
  const forgetEnded = (): void => {
    for (const socket of open) if (socket.destroyed) open.delete(socket);
  };

  return {
    dial: ({ path, host, port }) => {
      forgetEnded();
      const nth = turn % Math.max(1, host.length);
      turn += 1;
      const [name = 'localhost', number = 5432] = [host[nth], port[nth]];
      const socket = path ? connect(path) : connect({ host: name, port: number });
      open.add(socket);
      // By its name a certificate is checked; both stand in what is said of a failure.
      return Object.assign(socket, { host: name, port: number });
    },
    heard: () => {
      forgetEnded();
      return new Map([...open].map((socket) => [socket, socket.bytesRead]));
    },
    cutSilent: (since) =>
      new Promise((resolve) => {
        // What is written to a connection under TLS between its cut and its close ends the process: after an immediate the close comes first.
        setImmediate(() => {
          const silent = [...since].filter(([socket, bytes]) => !socket.destroyed && socket.bytesRead === bytes);
          for (const [socket] of silent) socket.destroy();
          resolve(silent.length);
        });
      }),
  };
};
