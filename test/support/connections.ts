import { once } from 'node:events';
import { request } from 'node:http';
import { createServer, connect as dial, type Server, type Socket } from 'node:net';

/**
 * For test files: the one TCP relay. It stands between a client and a server and does to the
 * connections what networks do: it holds every byte back for a while, cuts the cable, resets, falls
 * silent, changes what the server says.
 *
 * Modes: `open` → `cut` (every connection is closed, new ones are closed at once) → heal → `open`
 *             → `silent` (nothing passes and nothing is closed, of new connections neither; healing closes what was open, for bytes are
 *                missing in it) → heal → `open`
 * Modes of a connection: carrying → (`freeze`) frozen for ever: neither side hears anything again,
 * while new connections carry as before.
 */

export type TcpProxy = {
  readonly port: number;
  /** The target's address, through here. */
  readonly url: string;
  /** Any address with our host and port in it. */
  readonly through: (url: string) => string;
  /** From now on every byte takes so long each way. */
  readonly delay: (ms: number) => void;
  readonly cut: () => void;
  readonly silence: () => void;
  readonly heal: () => void;
  /** RST to whoever dialled, on every connection that is open now; how many there were. */
  readonly reset: () => number;
  readonly freeze: () => number;
  /** FIN to whoever dialled, on every connection; what it says still passes. */
  readonly halfClose: () => number;
  /** How many connections are open, and how often it was dialled at all. */
  readonly open: () => number;
  readonly calls: () => number;
  readonly close: () => Promise<void>;
};

export type TcpProxyOptions = {
  /** Where it listens, if not on loopback at a port of the system's choice. */
  readonly host?: string;
  readonly port?: number;
  readonly delayMs?: number;
  /** What the server says, changed on its way to the client. */
  readonly rewrite?: (data: Buffer) => Buffer;
  /** What the client says, as it passes. */
  readonly overhear?: (data: Buffer) => void;
  /**
   * What the client says, changed on its way to the server; `call`: the how-manieth connection it
   * is, from 1.
   */
  readonly garble?: (data: Buffer, call: number) => Buffer;
};

type Pair = { readonly from: Socket; readonly to: Socket; isFrozen: boolean };

/**
 * One direction of a connection: bytes keep their order whatever becomes of the delay meanwhile.
 */
const createLane = (delayMs: () => number) => {
  const waiting: { readonly at: number; readonly act: () => void }[] = [];
  const work = (): void => {
    while (waiting[0] && waiting[0].at <= performance.now()) waiting.shift()?.act();
    if (waiting[0]) setTimeout(work, Math.max(1, waiting[0].at - performance.now()));
  };
  return (act: () => void): void => {
    const ms = delayMs();
    if (ms === 0 && waiting.length === 0) {
      act();
      return;
    }
    waiting.push({ at: Math.max(performance.now() + ms, waiting.at(-1)?.at ?? 0), act });
    if (waiting.length === 1) setTimeout(work, ms);
  };
};

/**
 * `target` may become known, or another, later; of several addresses with commas, each call gets
 * the next.
 */
export const createTcpProxy = async (
  target: string | (() => string),
  options: TcpProxyOptions = {},
): Promise<TcpProxy> => {
  const targetNow = (): string => (typeof target === 'string' ? target : target());
  const rewrite = options.rewrite ?? ((data: Buffer) => data);
  const garble = options.garble ?? ((data: Buffer) => data);
  const hear = (data: Buffer, call: number): Buffer => {
    options.overhear?.(data);
    return garble(data, call);
  };
  const pairs = new Set<Pair>();
  /** Those that were dialled in silence: nobody answers them. */
  const unanswered = new Set<Socket>();
  let mode: 'open' | 'cut' | 'silent' = 'open';
  let delayMs = options.delayMs ?? 0;

  const passes = ({ isFrozen }: Pair): boolean => mode === 'open' && !isFrozen;

  const carry = (
    pair: Pair,
    one: Socket,
    other: Socket,
    change: (data: Buffer) => Buffer,
  ): void => {
    const lane = createLane(() => delayMs);
    one.on('data', (data: Buffer) =>
      lane(() => {
        if (!passes(pair) || other.destroyed) return;
        if (other.write(change(data))) return;
        one.pause();
        other.once('drain', () => one.resume());
      }),
    );
    // How it ended does not matter to the other side: it hears of it as of everything, a while
    // later.
    one.on('error', () => one.destroy());
    one.once('close', () =>
      lane(() => {
        if (passes(pair)) other.destroySoon();
        if (one.destroyed && other.destroyed) pairs.delete(pair);
      }),
    );
  };

  const drop = (): void => {
    for (const { from, to } of pairs) for (const socket of [from, to]) socket.destroy();
    for (const socket of unanswered) socket.destroy();
    pairs.clear();
    unanswered.clear();
  };

  let calls = 0;
  const server = createServer((from) => {
    calls += 1;
    if (mode === 'cut') return void from.destroy();
    from.on('error', () => from.destroy());
    if (mode === 'silent') {
      unanswered.add(from);
      from.once('close', () => unanswered.delete(from));
      return;
    }
    from.setNoDelay(true);
    const addresses = targetNow().split(',');
    const { hostname, port } = new URL(addresses[calls % addresses.length] ?? '');
    const to = dial({ host: hostname, port: Number(port), noDelay: true });
    const pair: Pair = { from, to, isFrozen: false };
    pairs.add(pair);
    const call = calls;
    carry(pair, from, to, (data) => hear(data, call));
    carry(pair, to, from, rewrite);
  });
  const { host = '127.0.0.1' } = options;
  const port = await portOf(server, host, options.port);

  const through = (url: string): string => {
    const there = new URL(url.split(',')[0] ?? '');
    there.hostname = host;
    there.port = String(port);
    return there.pathname === '/' && !url.endsWith('/')
      ? there.href.replace(/\/$/, '')
      : there.href;
  };
  return {
    port,
    get url() {
      return through(targetNow());
    },
    through,
    delay: (ms) => {
      delayMs = ms;
    },
    cut: () => {
      mode = 'cut';
      drop();
    },
    silence: () => {
      mode = 'silent';
    },
    heal: () => {
      if (mode === 'silent') drop();
      mode = 'open';
    },
    reset: () => {
      const open = [...pairs];
      for (const { from, to } of open) {
        from.resetAndDestroy();
        to.destroy();
      }
      return open.length;
    },
    freeze: () => {
      for (const pair of pairs) pair.isFrozen = true;
      return pairs.size;
    },
    halfClose: () => {
      for (const { from } of pairs) from.end();
      return pairs.size;
    },
    open: () => pairs.size,
    calls: () => calls,
    close: async () => {
      drop();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};

/**
 * Settles when the connection is closed, in whatever way: to `once(socket, 'close')` one that is
 * reset while somebody writes to it is a failure.
 */
export const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.on('error', () => socket.destroy());
    socket.once('close', () => resolve());
  });

/**
 * For test files: a request with exactly these headers, as browsers send them when a person clicks;
 * fetch() writes some of them itself.
 */

/** What a browser sends with a click. */
export const click = {
  'sec-fetch-mode': 'navigate',
  'sec-fetch-user': '?1',
  'sec-fetch-site': 'none',
} as const;

type Arrived = {
  readonly status: number;
  readonly location: string | undefined;
  readonly cookies: readonly string[];
  readonly text: string;
};

export const navigate = (
  url: string,
  headers: Readonly<Record<string, string>> = click,
  method = 'GET',
): Promise<Arrived> =>
  new Promise((resolve, reject) => {
    const asked = request(
      url,
      { method, headers: { accept: 'text/html', ...headers } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (part: string) => {
          text += part;
        });
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            location: answer.headers.location,
            cookies: answer.headers['set-cookie'] ?? [],
            text,
          }),
        );
      },
    );
    asked.on('error', reject);
    asked.end();
  });

/** Lets the server listen, at any port, and says at which. */
export async function portOf(server: Server, host = '127.0.0.1', wanted = 0): Promise<number> {
  server.listen(wanted, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it listens at no port');
  return address.port;
}
