/** For test files: a way to a database that lets some connections through and tells others what a Postgres says that still recovers from a crash. */
import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';

export type FickleDatabase = {
  readonly url: string;
  readonly refused: () => number;
  readonly close: () => Promise<void>;
};

const recovering = (): Buffer => {
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0');
  const head = Buffer.alloc(5, 'E');
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
};

/** `refuses` is asked about each connection by its number, from 1. */
export const createFickleDatabase = async (url: string, refuses: (call: number) => boolean): Promise<FickleDatabase> => {
  const there = new URL(url);
  const sockets = new Set<Socket>();
  let calls = 0;
  let refused = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  };
  const server = createServer((from) => {
    keep(from);
    calls += 1;
    if (refuses(calls)) {
      refused += 1;
      from.once('data', () => from.end(recovering()));
      return;
    }
    const to = dial({ host: there.hostname, port: Number(there.port), noDelay: true });
    keep(to);
    from.pipe(to);
    to.pipe(from);
    from.once('close', () => to.destroy());
    to.once('close', () => from.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const through = new URL(url);
  through.host = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  return {
    url: through.href,
    refused: () => refused,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
