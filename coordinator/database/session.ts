import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import pg, { type QueryResult } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { codeOf } from '../../shared/base/errors.ts';
import { types } from './statement.ts';

/** A lost connection to the database: no fault of the query. */
export class LostConnection extends Error {
  readonly code: string;

  constructor(message: string, code: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'LostConnection';
    this.code = code;
  }
}

export type SessionOptions = {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly tls: ConnectionOptions | false | undefined;
  /** TLS from the first byte. */
  readonly isDirect: boolean;
  readonly name: string;
  /** The time limit of a statement on the server. */
  readonly statementMs: number;
  /** How long the database may be silent while it owes an answer. */
  readonly silentMs: number;
  /** For COPY, which the client does not pipeline: each statement waits for the one before it. */
  readonly copies: boolean;
};

/**
 * The server ends a transaction that its client (a frozen process) left open, because its locks
 * would keep other coordinators from taking over.
 */
const idleInTransactionMs = 4_000;

const connectMs = 5_000;
/** A session without an answer for a whole `silentMs` is looked at this often in it. */
const looks = 4;

/**
 * One connection to the database. Its statements are sent at once, one behind the other, and fail
 * together when the connection is lost, which `lost` tells. It is not opened again.
 */
export class Session {
  readonly openedAt = performance.now();
  /** The process of the server that this session was promised; a pooler may give it others. */
  backend: number | undefined;
  /** Rejects when the connection is lost or was ended. */
  readonly lost: Promise<never>;
  readonly #socket = new Socket();
  readonly #client: pg.Client;
  readonly #options: SessionOptions;
  readonly #lose: (error: Error) => void;
  #fault: Error | undefined;
  /** Statements without an answer. */
  #open = 0;
  #watch: NodeJS.Timeout | undefined;
  #isGathering = false;
  #last: Promise<unknown> = Promise.resolve();
  /** By performance.now(). */
  answeredAt = 0;

  private constructor(options: SessionOptions) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.lost = promise;
    // No one may be waiting when it is lost.
    promise.catch(() => undefined);
    this.#lose = reject;
    this.#options = options;
    const { host, port, user, password, database, tls, isDirect, name, copies } = options;
    this.#client = new pg.Client({
      host,
      port,
      user,
      password,
      database,
      ssl: tls,
      ...(isDirect ? { sslnegotiation: 'direct' } : {}),
      application_name: name,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 60_000,
      pipeline: !copies,
      types,
      stream: () => this.#socket,
    });
    this.#client.connection.once('backendKeyData', ({ processID }: { processID: number }) => {
      this.backend = processID;
    });
    this.#client.on('error', (error) => this.destroy(lostBy(error)));
    this.#client.on('end', () => this.destroy());
  }

  /** @throws LostConnection, or what the database says. */
  static async open(options: SessionOptions): Promise<Session> {
    const session = new Session(options);
    try {
      await session.#client.connect();
    } catch (error) {
      session.destroy();
      throw lostBy(error);
    }
    session.answeredAt = performance.now();
    // Some poolers refuse settings in the startup message. By its default costs, the planner reads all
    // monitors to find the few of a batch.
    const settings = `set statement_timeout = ${options.statementMs}; set idle_in_transaction_session_timeout = ${idleInTransactionMs}; set random_page_cost = 1.1`;
    session.run(settings).catch((error: unknown) => {
      session.destroy(lostBy(error));
    });
    return session;
  }

  get isLost(): boolean {
    return this.#fault !== undefined;
  }

  /** How much was received. */
  get received(): number {
    return this.#socket.bytesRead;
  }

  /** `name`: prepares the statement under it, or uses the one that is prepared. */
  run(
    text: string,
    values: readonly (string | Buffer | null)[] = [],
    name?: string,
  ): Promise<QueryResult> {
    const query = { name, text, values: [...values] };
    if (!this.#options.copies) return this.#send(() => this.#client.query(query));
    const sent = this.#last.then(() => this.#send(() => this.#client.query(query)));
    this.#last = sent.catch(() => undefined);
    return sent;
  }

  /** The output of a COPY. Left in its midst, it would hold up all that follows: that ends both. */
  copyTo(text: string): Readable {
    const rows = this.#client.query(copyTo(text));
    rows.once('close', () => {
      if (!rows.readableEnded) this.destroy();
    });
    return rows;
  }

  /** The input of a COPY. */
  copyFrom(text: string): Writable {
    return this.#client.query(copyFrom(text));
  }

  onNotification(hear: (channel: string, line: string) => void): void {
    this.#client.on('notification', ({ channel, payload = '' }) => hear(channel, payload));
  }

  async end(): Promise<void> {
    if (this.#fault) return;
    this.#fault = ended();
    // A server that does not answer the end is not waited for.
    const patience = setTimeout(() => this.#socket.destroy(), 2_000);
    await this.#client.end();
    clearTimeout(patience);
    this.destroy();
  }

  destroy(fault: Error = lostBy(undefined)): void {
    this.#fault ??= fault;
    clearInterval(this.#watch);
    this.#watch = undefined;
    this.#socket.destroy();
    this.#lose(this.#fault);
  }

  async #send(query: () => Promise<QueryResult>): Promise<QueryResult> {
    if (this.#fault) throw this.#fault;
    this.#gather();
    this.#open += 1;
    this.#watch ??= this.#watchSilence();
    try {
      // A text of several statements has an answer for each.
      const answer = [await query()].flat().at(-1);
      if (!answer) throw new Error('the database did not answer the statement');
      this.answeredAt = performance.now();
      return answer;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw this.#fault ?? error;
      this.answeredAt = performance.now();
      throw error;
    } finally {
      this.#open -= 1;
    }
  }

  /** What is sent in one turn of the loop leaves by one call of the system. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    const { stream } = this.#client.connection;
    stream.cork();
    process.nextTick(() => {
      this.#isGathering = false;
      stream.uncork();
    });
  }

  /**
   * When a database moves to another machine, or a router forgets its connections, no one closes
   * them: the system would retransmit for a quarter of an hour.
   */
  #watchSilence(): NodeJS.Timeout {
    const { silentMs } = this.#options;
    let before = this.received;
    let silent = 0;
    const look = (): void => {
      if (this.#open === 0) {
        clearInterval(this.#watch);
        this.#watch = undefined;
        return;
      }
      silent = this.received === before ? silent + 1 : 0;
      before = this.received;
      if (silent >= looks)
        this.destroy(
          new LostConnection(`the database said nothing for ${silentMs} ms`, 'CONNECTION_SILENT'),
        );
    };
    // After a standstill the process reads what arrived meanwhile before it looks.
    return setInterval(() => setImmediate(look), silentMs / looks);
  }
}

const codes: Readonly<Record<string, string>> = {
  'timeout expired': 'CONNECT_TIMEOUT',
  'The server does not support SSL connections': 'NO_TLS',
  'There was an error establishing an SSL connection': 'NO_TLS',
};

/** The client's own errors have no code, and say what became of the connection. */
function lostBy(error: unknown): Error {
  if (error instanceof LostConnection || error instanceof pg.DatabaseError) return error;
  const message =
    error instanceof Error ? error.message : 'the connection to the database was lost';
  return new LostConnection(message, codeOf(error, codes[message] ?? 'CONNECTION_CLOSED'), error);
}

export function ended(): LostConnection {
  return new LostConnection('the connection to the database was ended', 'CONNECTION_ENDED');
}
