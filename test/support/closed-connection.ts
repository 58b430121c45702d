import type { Socket } from 'node:net';

/** Settles when the connection is closed, in whatever way: to `once(socket, 'close')` one that is reset while somebody writes to it is a failure. */
export const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.on('error', () => socket.destroy());
    socket.once('close', () => resolve());
  });
