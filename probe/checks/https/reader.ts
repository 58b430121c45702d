import { GrowingBytes } from '../limits.ts';

/**
 * Reads one HTTP/1.1 response from the bytes of a connection that carries nothing else. Pure: bytes
 * in, events out.
 *
 * Modes: `head` → (`length` | `chunk_size` ⇄ `chunk` → `trailer` | `until_close`) → `done`;
 * `failed` from any. An interim response (1xx) returns to `head`.
 */
type Mode =
  | 'head'
  | 'length'
  | 'chunk_size'
  | 'chunk'
  | 'chunk_end'
  | 'trailer'
  | 'until_close'
  | 'done'
  | 'failed';

export type ReaderFault =
  | 'MALFORMED'
  | 'HEADERS_TOO_LARGE'
  | 'FRAMING_TOO_LARGE'
  | 'CLOSED'
  | 'INCOMPLETE';

export type ReaderLimits = {
  /** The limit in bytes for all heads (interim ones included), and for trailers. */
  readonly head: number;
  readonly headers: number;
  /** The limit in bytes for the body. */
  readonly body: number;
  /** How many bytes of the body to keep; the rest is counted. */
  readonly keep: number;
};

export const readerLimits = { head: 131_072, headers: 1_024, body: 1_048_576 } as const;

export type Header = readonly [name: string, value: string];

const empty = Buffer.alloc(0);
const maxChunkLine = 4_096;
/** Enough to show what came, even if it contains a secret. */
const maxBeginning = 8_192;
/**
 * How many bytes of framing may exceed the body: a page that trickles out in small pieces is no
 * attack.
 */
const maxFramingBeyondBody = 32_768;
const name = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export class ResponseReader {
  readonly isHttp2 = false;
  status = 0;
  headers: readonly Header[] = [];
  /** Bytes of body read so far. */
  read = 0;
  truncated = false;
  fault: ReaderFault | null = null;
  /** Pieces of one byte each would take eighty times their size. */
  readonly kept: GrowingBytes;
  readonly #method: string;
  readonly #limits: ReaderLimits;
  #mode: Mode = 'head';
  #framing = 0;
  #pending: Buffer = empty;
  #headBytes = 0;
  #left = 0;
  #scanned = 0;

  constructor(method: string, limits: ReaderLimits) {
    this.#method = method;
    this.#limits = limits;
    this.kept = new GrowingBytes(limits.keep);
  }

  /** Whether the reader needs nothing more from the connection. */
  get over(): boolean {
    return this.#mode === 'done' || this.#mode === 'failed';
  }

  get body(): Buffer {
    return this.kept.bytes;
  }

  /** What came instead of a head, while none was complete. */
  get beginning(): Buffer {
    return this.status === 0 ? this.#pending.subarray(0, maxBeginning) : empty;
  }

  /** The most bytes of body that are kept once this many more have come. */
  keptAfter(bytes: number): number {
    return Math.min(this.#limits.keep, this.kept.length + bytes);
  }

  /** Takes the next bytes; returns whether the response is over. */
  take(bytes: Buffer): boolean {
    let rest = this.#pending.length > 0 ? Buffer.concat([this.#pending, bytes]) : bytes;
    this.#pending = empty;
    while (rest.length > 0 && !this.over) {
      const used = this.#step(rest);
      // Bytes that are not a head stay as they came, to be shown.
      if (used < 0 || (this.#mode === 'failed' && this.status === 0)) {
        this.#pending = rest;
        break;
      }
      rest = rest.subarray(used);
    }
    return this.over;
  }

  /** The connection has ended: right for a body that lasts until then, a fault otherwise. */
  end(): void {
    if (this.over) return;
    if (this.#mode === 'until_close') this.#mode = 'done';
    else if (this.#mode !== 'head') this.#fail('INCOMPLETE');
    else this.#fail(this.#headBytes + this.#pending.length === 0 ? 'CLOSED' : 'INCOMPLETE');
  }

  #fail(fault: ReaderFault): number {
    this.fault = fault;
    this.#mode = 'failed';
    return 0;
  }

  /** Consumes some of the bytes and returns how many; -1 when it needs more. */
  #step(bytes: Buffer): number {
    switch (this.#mode) {
      case 'head':
        return this.#head(bytes);
      case 'chunk_size':
        return this.#chunkSize(bytes);
      case 'chunk_end':
        return this.#line(bytes, () => {
          this.#mode = 'chunk_size';
        });
      case 'trailer':
        return this.#line(bytes, (line) => {
          this.#headBytes += line.length + 2;
          if (this.#headBytes > this.#limits.head) this.#fail('HEADERS_TOO_LARGE');
          else if (line.length === 0) this.#mode = 'done';
        });
      default:
        return this.#bodyPart(bytes);
    }
  }

  #head(bytes: Buffer): number {
    const size = this.#headSize(bytes);
    if (this.#headBytes + (size ?? bytes.length) > this.#limits.head)
      return this.#fail('HEADERS_TOO_LARGE');
    if (size === undefined) {
      // Non-HTTP is reported at once, not only after a whole head has come.
      return 'HTTP/1.'.startsWith(bytes.toString('latin1', 0, 7)) ? -1 : this.#fail('MALFORMED');
    }
    this.#headBytes += size;
    this.#scanned = 0;
    const lines = bytes.toString('latin1', 0, size).trimEnd().split('\n');
    const status = /^HTTP\/1\.[01] ([1-9]\d\d)\s/.exec(`${lines[0] ?? ''} `)?.[1];
    if (status === undefined) return this.#fail('MALFORMED');
    if (lines.length - 1 > this.#limits.headers) return this.#fail('HEADERS_TOO_LARGE');
    if (status[0] === '1' && status !== '101') return size;
    this.status = Number(status);
    this.headers = headersOf(lines);
    this.#frame();
    return size;
  }

  /**
   * The size of the head with its empty line. Scans only new bytes, so a drip of single bytes costs
   * no more.
   */
  #headSize(bytes: Buffer): number | undefined {
    for (let at = bytes.indexOf(10, this.#scanned); at >= 0; at = bytes.indexOf(10, at + 1)) {
      if (bytes[at + 1] === 10) return at + 2;
      if (bytes[at + 1] === 13 && bytes[at + 2] === 10) return at + 3;
    }
    this.#scanned = Math.max(0, bytes.length - 2);
    return undefined;
  }

  /** Decides from the head how the body is delimited. */
  #frame(): void {
    const lengths = new Set<string>();
    let chunked = false;
    for (const [key, value] of this.headers) {
      if (key === 'content-length') for (const part of value.split(',')) lengths.add(part.trim());
      else if (key === 'transfer-encoding') chunked = /\bchunked\s*$/i.test(value);
    }
    const [length = ''] = lengths;
    if (
      this.#method === 'HEAD' ||
      this.status === 204 ||
      this.status === 304 ||
      this.status === 101
    )
      this.#mode = 'done';
    else if (chunked) this.#mode = 'chunk_size';
    else if (lengths.size === 0) this.#mode = 'until_close';
    else if (lengths.size > 1 || !/^\d{1,15}$/.test(length)) this.#fail('MALFORMED');
    else {
      this.#left = Number(length);
      this.#mode = this.#left === 0 ? 'done' : 'length';
    }
  }

  #line(bytes: Buffer, use: (line: string) => void): number {
    const end = bytes.indexOf(10);
    if (end < 0) return bytes.length > maxChunkLine ? this.#fail('MALFORMED') : -1;
    this.#framing += end + 1;
    if (this.#framing > this.read + maxFramingBeyondBody) return this.#fail('FRAMING_TOO_LARGE');
    use(bytes.toString('latin1', 0, end).replace(/\r$/, ''));
    return end + 1;
  }

  #chunkSize(bytes: Buffer): number {
    return this.#line(bytes, (line) => {
      const size = /^\s*([0-9a-fA-F]{1,12})\s*(?:;|$)/.exec(line)?.[1];
      if (size === undefined) this.#fail('MALFORMED');
      else {
        this.#left = Number.parseInt(size, 16);
        this.#mode = this.#left === 0 ? 'trailer' : 'chunk';
      }
    });
  }

  #bodyPart(bytes: Buffer): number {
    const wanted = this.#mode === 'until_close' ? bytes.length : Math.min(bytes.length, this.#left);
    const room = this.#limits.body - this.read;
    const used = Math.min(wanted, room);
    this.read += used;
    const keep = Math.min(used, this.#limits.keep - this.kept.length);
    if (keep > 0) this.kept.add(keep === bytes.length ? bytes : bytes.subarray(0, keep));
    if (wanted > room) {
      this.truncated = true;
      this.#mode = 'done';
      return used;
    }
    if (this.#mode !== 'until_close') {
      this.#left -= used;
      if (this.#left === 0) this.#mode = this.#mode === 'chunk' ? 'chunk_end' : 'done';
    }
    return used;
  }
}

/**
 * The header lines of a head, names in lower case. A folded line belongs to the one before; invalid
 * lines are skipped.
 */
function headersOf(lines: readonly string[]): Header[] {
  const headers: [string, string][] = [];
  for (let i = 1; i < lines.length; i += 1) {
    const line = lines[i] ?? '';
    const colon = line.indexOf(':');
    const last = headers.at(-1);
    if (last && (line[0] === ' ' || line[0] === '\t')) last[1] = `${last[1]} ${line.trim()}`;
    else if (colon > 0 && name.test(line.slice(0, colon)))
      headers.push([line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]);
  }
  return headers;
}
