import { EventEmitter } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { codeOf } from '../../shared/base/errors.ts';

/**
 * The messages of Postgres' protocol, as far as a connection needs them: a letter, four bytes of
 * length, the content.
 */

/**
 * Calls `onMessage` with each message's letter once its head has arrived, however the stream is
 * split.
 */
export function createFrameReader(
  onMessage: (letter: string) => void,
): (piece: Uint8Array) => void {
  const head = Buffer.alloc(5);
  let inHead = 0;
  let left = 0;
  return (piece) => {
    let at = 0;
    while (at < piece.length) {
      if (left > 0) {
        const step = Math.min(left, piece.length - at);
        left -= step;
        at += step;
        continue;
      }
      const step = Math.min(head.length - inHead, piece.length - at);
      head.set(piece.subarray(at, at + step), inHead);
      inHead += step;
      at += step;
      if (inHead < head.length) return;
      inHead = 0;
      // The length includes its own four bytes.
      left = head.readUInt32BE(1) - 4;
      onMessage(String.fromCharCode(head[0] ?? 0));
    }
  };
}

/** Splits the complete part of `bytes` into messages. */
export function wholeMessages(bytes: Buffer): {
  readonly messages: readonly Buffer[];
  readonly rest: Buffer;
} {
  const messages: Buffer[] = [];
  let rest = bytes;
  while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
    const end = rest.readUInt32BE(1) + 1;
    messages.push(rest.subarray(0, end));
    rest = rest.subarray(end);
  }
  return { messages, rest };
}

export function messageKindOf(message: Buffer): string {
  return String.fromCharCode(message[0] ?? 0);
}

/** A query in the simple protocol. */
export function simpleQuery(text: string): Buffer {
  const body = Buffer.from(`${text}\0`);
  const head = Buffer.alloc(5, 'Q');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** Requests TLS; the answer is one letter, S or N. */
export const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * Added to the client's startup message. The client buffers what it writes until the end of a turn
 * or until it has 1,024 bytes. A connection that closes within the turn leaves queries in that
 * buffer which the client believes to be on their way, and it then says nothing on the next
 * connection. This one parameter, which no server sees, makes the startup message long enough to be
 * sent at once, whatever else the buffer holds.
 */
export const startupFiller = { antipode_filler: 'x'.repeat(1_024) };

const [fillerName = ''] = Object.keys(startupFiller);
/** The protocol's version, and the first parameter that the client names. */
const startupMark = Buffer.from('\0\u0003\0\0user\0', 'latin1');

/**
 * The startup message alone, without leftovers of an earlier connection and without the filler.
 * Undefined when there is none.
 */
export function startupIn(written: Buffer): Buffer | undefined {
  const at = written.lastIndexOf(startupMark) - 4;
  if (at < 0) return undefined;
  const words = written
    .subarray(at + 8)
    .toString('utf8')
    .split('\0');
  const filled = words.indexOf(fillerName);
  if (filled >= 0) words.splice(filled, 2);
  const body = Buffer.from(words.join('\0'));
  const head = Buffer.alloc(8);
  head.writeUInt32BE(body.length + 8, 0);
  written.copy(head, 4, at + 4, at + 8);
  return Buffer.concat([head, body]);
}

/** A lost connection to the database: no fault of the query. */
export class LostConnection extends Error {
  readonly code: string;

  constructor(message: string, code: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'LostConnection';
    this.code = code;
  }
}

export type LineOptions = {
  readonly host: string;
  readonly port: number;
  /**
   * null: without TLS. `orPlain`: also accept a server without TLS. `direct`: TLS from the first
   * byte.
   */
  readonly tls: {
    readonly options: ConnectionOptions;
    readonly orPlain: boolean;
    readonly direct: boolean;
  } | null;
  /** Statements without rows that begin every session. */
  readonly settings: string;
  /** How long the database may be silent while a query is open. */
  readonly silentMs: number;
  /** Called whenever the database sends anything. */
  readonly onHeard: () => void;
};

/**
 * One connection to the database, which the client uses as its socket.
 *
 * The client (postgres.js 3.4.9) rejects its open queries when its socket fails, but goes on
 * sending until the socket has closed, and forgets the queries in between: after a reset those are
 * never answered. So this class reports failure and end together, at the end, and queries sent
 * until then fail with the rest. The client's own TLS has the same fault, so TLS is made here too.
 *
 * Some poolers refuse settings in the startup message. So the session's settings are a statement of
 * its own, which the client never sees: it runs before the client learns that the database is
 * ready.
 *
 * Modes: `opening` (TCP, TLS; writes wait) → `greeting` (names and passwords, until the database is
 * ready) → `settling` (settings) → `open` → `closed`.
 */
export class DatabaseLine extends EventEmitter {
  readonly host: string;
  readonly port: number;
  readonly #options: LineOptions;
  #socket: Socket;
  #mode: 'opening' | 'greeting' | 'settling' | 'open' | 'closed' = 'opening';
  #fault: Error | undefined;
  #waiting: Buffer[] = [];
  #incoming: Buffer = Buffer.alloc(0);
  #ready: Buffer | undefined;
  /** Queries without an answer. */
  #asked = 0;
  #heardAt = 0;
  #isGivenUp = false;
  #timer: NodeJS.Timeout | undefined;
  /** A new statement is first described, with a flush; its sync follows once that is answered. */
  #isFlushed = false;
  readonly #readSent = createFrameReader((letter) => {
    if (letter === 'Q' || letter === 'H' || (letter === 'S' && !this.#isFlushed)) this.#expect();
    if (letter === 'H' || letter === 'S') this.#isFlushed = letter === 'H';
  });
  readonly #readHeard = createFrameReader((letter) => {
    if (letter === 'Z') this.#asked -= 1;
  });

  constructor(socket: Socket, options: LineOptions) {
    super();
    this.host = options.host;
    this.port = options.port;
    this.#options = options;
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.once('connect', () => this.#connected());
    this.#watch(socket);
  }

  /** How much was received. */
  get heard(): number {
    return this.#socket.bytesRead;
  }

  get isClosed(): boolean {
    return this.#mode === 'closed';
  }

  /** The client ends only an open socket. One that is still opening must be ended too. */
  get readyState(): 'open' | 'closed' {
    return this.#mode === 'closed' ? 'closed' : 'open';
  }

  write(bytes: Buffer, done?: (error?: Error | null) => void): boolean {
    if (this.#mode === 'opening') {
      this.#waiting.push(bytes);
      return true;
    }
    if (this.#mode === 'closed' || this.#socket.destroyed) {
      done?.(
        this.#fault ??
          new LostConnection('the connection to the database is closed', 'CONNECTION_CLOSED'),
      );
      return true;
    }
    if (this.#mode === 'open') this.#readSent(bytes);
    return done ? this.#socket.write(bytes, done) : this.#socket.write(bytes);
  }

  end(bytes: Buffer): void {
    if (this.#mode !== 'open') {
      this.destroy();
      return;
    }
    this.#socket.end(bytes);
    // Do not wait for a server that does not answer the end.
    const patience = setTimeout(() => this.#socket.destroy(), 2_000);
    this.#socket.once('close', () => clearTimeout(patience));
  }

  destroy(fault?: Error): void {
    this.#fault ??= fault;
    this.#isGivenUp = true;
    this.#socket.destroy();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  setKeepAlive(isOn: boolean, afterMs: number): void {
    this.#socket.setKeepAlive(isOn, afterMs);
  }

  #watch(socket: Socket): void {
    socket.on('error', (error) => {
      this.#fault ??= new LostConnection(error.message, codeOf(error), error);
    });
    socket.once('close', () => {
      // The socket below TLS ends before the one above.
      if (this.#socket === socket) this.#closed();
    });
    socket.on('drain', () => this.emit('drain'));
  }

  #connected(): void {
    const { tls } = this.#options;
    if (!tls) this.#begin();
    else if (tls.direct) this.#secure();
    else this.#askForTls(tls.orPlain);
  }

  #askForTls(orPlain: boolean): void {
    this.#socket.once('data', (answer: Buffer) => {
      // More than the one letter would be mistaken for data under TLS.
      if (answer.length === 1 && answer[0] === 83) this.#secure();
      else if (orPlain && answer.length === 1) this.#begin();
      else
        this.destroy(
          new LostConnection(
            'the database does not take TLS, and without it nothing is said',
            'NO_TLS',
          ),
        );
    });
    this.#socket.write(tlsRequest);
  }

  #secure(): void {
    const { tls, host } = this.#options;
    const names = isIP(host) ? {} : { servername: host };
    const first = tls?.direct ? { ALPNProtocols: ['postgresql'] } : {};
    const secured = connectTls({ socket: this.#socket, ...names, ...first, ...tls?.options });
    this.#socket = secured;
    this.#watch(secured);
    secured.once('secureConnect', () => this.#begin());
  }

  #begin(): void {
    this.#mode = 'greeting';
    this.#socket.on('data', (piece: Buffer) => this.#hear(piece));
    const written = Buffer.concat(this.#waiting.splice(0));
    // A cancel request has another form, and passes unchanged.
    this.#socket.write(startupIn(written) ?? written);
  }

  #hear(piece: Buffer): void {
    this.#heardAt = performance.now();
    this.#options.onHeard();
    if (this.#mode === 'open') {
      this.#readHeard(piece);
      if (this.#asked <= 0) this.#rest();
      this.emit('data', piece);
      return;
    }
    const { messages, rest } = wholeMessages(
      this.#incoming.length === 0 ? piece : Buffer.concat([this.#incoming, piece]),
    );
    this.#incoming = rest;
    for (const message of messages) {
      if (this.#mode === 'greeting') this.#greeted(message);
      else if (this.#mode === 'settling') this.#settled(message);
      // Before the client sends anything, only notifications of an earlier session can arrive.
      else this.emit('data', message);
    }
  }

  #greeted(message: Buffer): void {
    if (messageKindOf(message) !== 'Z') {
      this.emit('data', message);
      return;
    }
    this.#ready = message;
    this.#mode = 'settling';
    this.#socket.write(simpleQuery(this.#options.settings));
  }

  #settled(message: Buffer): void {
    const letter = messageKindOf(message);
    if (letter === 'E') {
      this.emit('data', message);
      this.destroy();
    } else if (letter === 'Z' && this.#ready) {
      this.#mode = 'open';
      this.emit('data', this.#ready);
    }
  }

  #expect(): void {
    this.#asked += 1;
    if (this.#asked > 1) return;
    this.#heardAt = performance.now();
    this.#timer ??= setTimeout(() => this.#look(), this.#options.silentMs);
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #look(isSecond = false): void {
    this.#timer = undefined;
    const { silentMs } = this.#options;
    if (this.#asked <= 0 || this.#mode === 'closed') return;
    const silent = performance.now() - this.#heardAt;
    if (silent >= silentMs && isSecond) {
      this.destroy(
        new LostConnection(
          `the database said nothing for ${Math.round(silent)} ms`,
          'CONNECTION_SILENT',
        ),
      );
      return;
    }
    // After a standstill the process reads what arrived meanwhile before this second check.
    if (silent >= silentMs) setImmediate(() => this.#look(true));
    else this.#timer = setTimeout(() => this.#look(), silentMs - silent);
  }

  #closed(): void {
    if (this.#mode === 'closed') return;
    // Otherwise the client would dial again and again, and its caller would never learn of it.
    if (this.#mode !== 'open' && !this.#isGivenUp)
      this.#fault ??= new LostConnection(
        'the other side closed the connection before anything could be asked',
        'CONNECTION_CLOSED',
      );
    this.#mode = 'closed';
    this.#rest();
    if (this.#fault && this.listenerCount('error') > 0) this.emit('error', this.#fault);
    this.emit('close', this.#fault !== undefined);
  }
}
