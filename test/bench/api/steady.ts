import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type Steady = {
  /** What the answers were so far, by their status; 0 is a connection that broke. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Ends it; how many were answered in a second. */
  readonly stop: () => number;
};

const endOfHead = Buffer.from('\r\n\r\n');
const tickMs = 5;

/**
 * Asks so often in a second, whatever is answered and however long that takes, over so many
 * connections. Who falls behind does not catch up.
 */
export const askSteadily = async (
  url: URL,
  header: string,
  perSecond: number,
  connections: number,
): Promise<Steady> => {
  const request = Buffer.from(
    `GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n${header}\r\n\r\n`,
  );
  const statuses = new Map<number, number>();
  const idle: Socket[] = [];
  const all = new Set<Socket>();
  let [answered, isOver] = [0, false];
  const count = (status: number): void => {
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    answered += 1;
  };

  const open = async (): Promise<void> => {
    const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    await once(socket, 'connect');
    all.add(socket);
    let head: Buffer = Buffer.alloc(0);
    let missing = 0;
    socket.on('data', (chunk: Buffer) => {
      if (missing === 0) {
        head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
        const at = head.indexOf(endOfHead);
        if (at === -1) return;
        const text = head.toString('latin1', 0, at);
        count(Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0));
        missing =
          Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0) -
          (head.length - at - endOfHead.length);
        head = Buffer.alloc(0);
      } else missing -= chunk.length;
      if (missing <= 0) {
        missing = 0;
        idle.push(socket);
      }
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      all.delete(socket);
      if (isOver) return;
      count(0);
      const at = idle.indexOf(socket);
      if (at !== -1) idle.splice(at, 1);
      void open().catch(() => count(0));
    });
    idle.push(socket);
  };

  await Promise.all(Array.from({ length: connections }, open));
  const began = performance.now();
  let asked = 0;
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - began) * perSecond) / 1_000);
    for (; asked < due; asked += 1) {
      const socket = idle.pop();
      if (socket === undefined) {
        asked = due;
        return;
      }
      socket.write(request);
    }
  }, tickMs);
  return {
    statuses,
    stop: () => {
      isOver = true;
      clearInterval(timer);
      const rate = (answered * 1_000) / (performance.now() - began);
      for (const socket of all) socket.destroy();
      return rate;
    },
  };
};
