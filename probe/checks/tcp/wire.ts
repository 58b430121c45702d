import type { Socket } from 'node:net';
import { codeOf } from '../../../shared/base/errors.ts';
import { ownCodes } from '../connection/observation.ts';
import { type CheckDeadline, GrowingBytes } from '../limits.ts';
import type { Exchange, Reading } from './greetings.ts';

/** How an exchange ended: by what was read, or by a code of the system or one of ours. */
export type Ended = Reading | { readonly is: 'over'; readonly code: string };

/** How much of one answer is read. */
export const maxAnswer = 65_536;

/** A server that asks further and further gets no more replies. */
const maxReplies = 8;

const nothing = (): void => undefined;

/**
 * Speaks over a connection, one exchange after the other, and keeps what comes meanwhile, never
 * more than one answer may have.
 */
export class Wire {
  /** What came since the last exchange that was right. */
  readonly bytes = new GrowingBytes(maxAnswer);
  /** The performance.now() of the first byte ever; null before. */
  firstAt: number | null = null;
  readonly #socket: Socket;
  readonly #deadline: CheckDeadline;
  #over: string | undefined;
  /** More came than is kept: nothing more is read. */
  #isCut = false;
  #judge = nothing;

  constructor(socket: Socket, deadline: CheckDeadline) {
    this.#socket = socket;
    this.#deadline = deadline;
    socket.on('data', this.#take);
    socket.once('end', this.#closed);
    socket.once('close', this.#closed);
    socket.once('error', this.#failed);
  }

  /** Releases the socket, for TLS to take it over or for its end. */
  release(): void {
    this.#socket
      .off('data', this.#take)
      .off('end', this.#closed)
      .off('close', this.#closed)
      .off('error', this.#failed)
      .on('error', nothing);
    this.#deadline.stop = nothing;
  }

  exchange({ send, read, mayClose }: Exchange): Promise<Ended> {
    return new Promise((resolve) => {
      let scanned = 0;
      let replies = 0;
      let settled = false;
      const settle = (ended: Ended): void => {
        if (settled) return;
        settled = true;
        this.#judge = nothing;
        resolve(ended);
      };
      this.#judge = () => {
        const reading = read(this.bytes.bytes, scanned);
        scanned = this.bytes.length;
        if (reading?.is === 'right') {
          this.#drop(reading.used);
          settle(reading);
        } else if (reading?.is === 'reply' && replies < maxReplies) {
          replies += 1;
          this.#drop(reading.used);
          scanned = 0;
          this.#socket.write(reading.send);
          this.#judge();
        } else if (reading) settle(reading);
        else if (this.#isCut) settle({ is: 'over', code: ownCodes.incomplete });
        else if (this.#over !== undefined)
          settle(
            mayClose && this.#over !== ownCodes.deadline
              ? { is: 'right', used: 0 }
              : { is: 'over', code: this.#over },
          );
      };
      // Reads what has already arrived first: after a pause of this process, the deadline fires
      // before the sockets.
      this.#deadline.stop = () => void setImmediate(() => this.#end(ownCodes.deadline));
      if (this.#deadline.isOver()) this.#over ??= ownCodes.deadline;
      else if (send && this.#over === undefined) this.#socket.write(send);
      this.#judge();
    });
  }

  /** Sends, and settles when the system has taken it. */
  send(bytes: Buffer): Promise<Ended> {
    return new Promise((resolve) => {
      const settle = (): void => {
        this.#judge = nothing;
        resolve(
          this.#over === undefined ? { is: 'right', used: 0 } : { is: 'over', code: this.#over },
        );
      };
      this.#judge = () => this.#over !== undefined && settle();
      this.#deadline.stop = () => this.#end(ownCodes.deadline);
      this.#socket.write(bytes, (error) => {
        if (error) this.#over ??= codeOf(error, 'EUNKNOWN');
        settle();
      });
    });
  }

  #drop(used: number): void {
    const rest = Buffer.from(this.bytes.bytes.subarray(used));
    this.bytes.free();
    this.bytes.add(rest);
  }

  /** The first end counts: what comes after a reset is its echo. */
  #end(code: string): void {
    this.#over ??= code;
    this.#judge();
  }

  readonly #take = (part: Buffer): void => {
    this.firstAt ??= performance.now();
    this.#isCut ||= this.bytes.length + part.length > maxAnswer;
    this.bytes.add(part);
    if (this.#isCut) this.#socket.pause();
    this.#judge();
  };

  readonly #closed = (): void => this.#end(ownCodes.closed);
  readonly #failed = (error: unknown): void => this.#end(codeOf(error, 'EUNKNOWN'));
}
