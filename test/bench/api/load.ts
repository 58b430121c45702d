import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const endOfHead = Buffer.from('\r\n\r\n');

/**
 * One connection that asks the same again and again, and spends as little as it can, because it
 * shares the machine with what is measured. Every answer must be a 200 with a length.
 */
const keepAsking = (socket: Socket, request: Buffer, done: () => boolean): Promise<void> =>
  new Promise((resolve, reject) => {
    let head: Buffer = Buffer.alloc(0);
    let missing = 0;
    const next = (): void => {
      if (done()) resolve();
      else socket.write(request);
    };
    const read = (chunk: Buffer): void => {
      if (missing > 0) {
        missing -= chunk.length;
        if (missing <= 0) next();
        return;
      }
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      const at = head.indexOf(endOfHead);
      if (at === -1) return;
      const text = head.toString('latin1', 0, at);
      const length = /^HTTP\/1\.1 200 [\s\S]*\r\ncontent-length: (\d+)/i.exec(text)?.[1];
      if (length === undefined) {
        reject(new Error(`an answer was not as expected: ${text}`));
        return;
      }
      missing = Number(length) - (head.length - at - endOfHead.length);
      head = Buffer.alloc(0);
      if (missing <= 0) next();
    };
    socket.on('data', read).on('error', reject);
    socket.write(request);
  });

/** As of somebody with a token. */
export const answersPerSecond = (
  url: URL,
  token: string,
  connections: number,
  forMs: number,
): Promise<number> => answersWith(url, `Authorization: Bearer ${token}`, connections, forMs);

/** Answers in a second, over so many connections that are never idle. */
export const answersWith = async (
  url: URL,
  header: string,
  connections: number,
  forMs: number,
): Promise<number> => {
  const request = Buffer.from(
    `GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n${header}\r\n\r\n`,
  );
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
      await once(socket, 'connect');
      return socket;
    }),
  );
  let answers = 0;
  const began = performance.now();
  const done = (): boolean => {
    answers += 1;
    return performance.now() - began >= forMs;
  };
  try {
    await Promise.all(sockets.map((socket) => keepAsking(socket, request, done)));
    return (answers * 1000) / (performance.now() - began);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
};
