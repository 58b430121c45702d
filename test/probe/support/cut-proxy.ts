import { createServer, connect as dial, type Socket } from 'node:net';

/**
 * A TCP relay that can be cut, for a connection that must break without the server behind it going away. Modes: open ↔ cut (every connection
 * is torn down, new ones are refused by being closed at once).
 */
export type CutProxy = { readonly url: string; readonly cut: () => void; readonly heal: () => void; readonly close: () => Promise<void> };

/** `target` may become known, or another, later. */
export const createCutProxy = async (target: string | (() => string)): Promise<CutProxy> => {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((from) => {
    if (isCut) return void from.destroy();
    const { hostname, port } = new URL(typeof target === 'string' ? target : target());
    const to = dial({ host: hostname, port: Number(port), noDelay: true });
    for (const [one, other] of [[from, to] as const, [to, from] as const]) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  return {
    url: `nats://127.0.0.1:${address.port}`,
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    heal: () => {
      isCut = false;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};
