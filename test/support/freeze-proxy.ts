/** For test files: a TCP relay whose open connections can be left hanging, as when a database moved to another machine and the old one is simply gone. */
import { createServer, connect as dial, type Socket } from 'node:net';

/** Modes of a connection: carrying → (`freeze`) frozen: nothing passes and nothing is closed. New connections carry as before. */
export type FreezeProxy = { readonly port: number; readonly freeze: () => number; readonly close: () => Promise<void> };

export const createFreezeProxy = async (target: { readonly host: string; readonly port: number }): Promise<FreezeProxy> => {
  const open = new Set<readonly [Socket, Socket]>();
  const frozen = new Set<Socket>();
  const server = createServer((from) => {
    const to = dial({ ...target, noDelay: true });
    const pair = [from, to] as const;
    open.add(pair);
    const carry = (one: Socket, other: Socket): void => {
      one.on('data', (data: Buffer) => void (frozen.has(one) || other.write(data)));
      one.on('error', () => one.destroy());
      one.on('close', () => {
        open.delete(pair);
        if (!frozen.has(one)) other.destroy();
      });
    };
    carry(from, to);
    carry(to, from);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  return {
    port: address.port,
    freeze: () => {
      for (const socket of [...open].flat()) frozen.add(socket);
      return open.size;
    },
    close: async () => {
      for (const socket of [...open].flat()) socket.destroy();
      for (const socket of frozen) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};
