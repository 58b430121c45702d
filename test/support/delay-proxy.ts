/** For test files: a TCP relay that holds every byte back for a time each way, as a cable between continents does, and can be cut to a black hole. */
import { createServer, connect as dial, type Socket } from 'node:net';

/**
 * Modes: `open` ↔ `cut` (nothing passes and nothing is closed: both sides hear silence, as when a cable breaks; healing closes what was open
 * then, because bytes are missing in it).
 */
export type DelayProxy = { readonly url: string; readonly cut: () => void; readonly heal: () => void; readonly close: () => Promise<void> };

export const createDelayProxy = async (target: string, delayMs: number): Promise<DelayProxy> => {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isCut = false;

  const carry = (from: Socket, to: Socket): void => {
    const later = (act: () => void) =>
      setTimeout(() => {
        if (!isCut && !to.destroyed) act();
      }, delayMs);
    from.on('data', (data: Buffer) => later(() => to.write(data)));
    from.once('close', () => {
      sockets.delete(from);
      later(() => to.destroy());
    });
    // How it ended does not matter to the other side: it hears of it as of everything, a while later.
    from.on('error', () => from.destroy());
  };

  const server = createServer((from) => {
    sockets.add(from);
    from.setNoDelay(true);
    if (isCut) return void from.on('error', () => from.destroy());
    const to = dial({ host: hostname, port: Number(port), noDelay: true });
    sockets.add(to);
    carry(from, to);
    carry(to, from);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `nats://127.0.0.1:${address.port}`,
    cut: () => {
      isCut = true;
    },
    heal: () => {
      isCut = false;
      drop();
    },
    close: async () => {
      drop();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};
