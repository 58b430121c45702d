/**
 * Watches the frames of HTTP/2 (RFC 9113) that a server sends for our one request, before the
 * library reads them. It bounds what the library would put up with, and notes how the server ends.
 * Pure: bytes in, how many of them to pass on out.
 *
 * It is no optimisation: node:http2 alone keeps less of what we promise. It ends most floods, but
 * read WINDOW_UPDATE at 100 MB a second until the deadline and 20,000 interim responses. It gives a
 * body that RST_STREAM NO_ERROR cut as a whole one, an RST_STREAM after GOAWAY as its own
 * REFUSED_STREAM, one code for an INTERNAL_ERROR of the server and for what is no HTTP/2, and
 * nothing of what came instead.
 *
 * Modes: the first frame (anything but its settings is no HTTP/2) → `watching` → answered (all of
 * our stream has come; nothing after it matters) | failed.
 */
export type FrameFault = 'MALFORMED' | 'HEADERS_TOO_LARGE' | 'FRAMING_TOO_LARGE';

const frames = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  push: 5,
  goAway: 7,
  continuation: 9,
} as const;
const flags = { endStream: 1, endHeaders: 4, padded: 8 } as const;

const frameHead = 9;
/** The largest frame that a server may send to those who allow no larger ones, as we do. */
const maxFrame = 16_384;
/** All header blocks together, trailers and interim responses included. */
export const maxHeaderBytes = 131_072;
/** How many bytes of framing may exceed the body, as in HTTP/1.1. */
const maxFramingBeyondBody = 32_768;
/** Enough to show what came, even if it contains a secret. */
const maxBeginning = 8_192;
/** The ends of a stream and of a connection have their code among these bytes. */
const keptOfFrame = 8;

/** Error codes of RFC 9113, by their number. */
const errorNames = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
];

/** Whether a server that was asked by HTTP/1.1 answers in HTTP/2. */
export function isHttp2(beginning: Uint8Array): boolean {
  return beginning.length >= frameHead && isFirstFrame(beginning);
}

/** The head of settings that a server begins with: they acknowledge nothing, and are of no stream. */
function isFirstFrame(head: Uint8Array): boolean {
  return (
    head[0] === 0 &&
    (head[3] === frames.settings || head[3] === frames.goAway) &&
    head.subarray(4, frameHead).every((byte) => byte === 0)
  );
}

/** The id of the first stream of a client, and here the only one. */
const ownStream = 1;

export class FrameWatch {
  fault: FrameFault | null = null;
  /** What came instead of HTTP/2. */
  beginning: Buffer = Buffer.alloc(0);
  /** How the server ended our stream before its time, or the whole connection. */
  ending: string | null = null;
  /** Whether our stream is complete. */
  isAnswered = false;
  #isBegun = false;
  #body = 0;
  #framing = 0;
  #headers = 0;
  /** The head of the frame that is being read, and the first bytes of its payload. */
  readonly #head = Buffer.alloc(frameHead + keptOfFrame);
  #filled = 0;
  #left = 0;
  #endsStream = false;

  get #length(): number {
    return this.#head.readUIntBE(0, 3);
  }
  get #type(): number {
    return this.#head[3] ?? 0;
  }
  get #isOwn(): boolean {
    return (this.#head.readUInt32BE(5) & 0x7fff_ffff) === ownStream;
  }
  #has(flag: number): boolean {
    return ((this.#head[4] ?? 0) & flag) !== 0;
  }

  /** Returns how many of these bytes to pass on; fewer than all once it is answered or failed. */
  take(bytes: Buffer): number {
    if (!this.#isBegun) this.#keep(bytes);
    let at = 0;
    while (at < bytes.length && !this.isAnswered && this.fault === null) {
      if (this.#filled < frameHead) {
        at += this.#fill(bytes, at, frameHead);
        if (this.#filled === frameHead) this.#began();
      } else {
        const part = Math.min(bytes.length - at, this.#left);
        this.#fill(bytes, at, Math.min(this.#head.length, this.#filled + part));
        this.#left -= part;
        at += part;
      }
      if (this.#filled >= frameHead && this.#left === 0 && this.fault === null) this.#ended();
    }
    return this.fault === null ? at : 0;
  }

  #keep(bytes: Buffer): void {
    const room = maxBeginning - this.beginning.length;
    this.beginning = Buffer.concat([this.beginning, bytes.subarray(0, room)]);
  }

  #fill(bytes: Buffer, from: number, until: number): number {
    const count = Math.min(until - this.#filled, bytes.length - from);
    if (count > 0) this.#filled += bytes.copy(this.#head, this.#filled, from, from + count);
    return Math.max(0, count);
  }

  /** The head of a frame is complete. */
  #began(): void {
    const length = this.#length;
    this.#left = length;
    if ((!this.#isBegun && !isFirstFrame(this.#head)) || length > maxFrame) {
      this.fault = 'MALFORMED';
      return;
    }
    this.#isBegun = true;
    this.beginning = Buffer.alloc(0);
    this.#framing += frameHead;
    if (this.#type === frames.data && this.#isOwn) this.#body += length;
    else if (this.#isHeaderBlock) this.#headers += length;
    else this.#framing += length;
    if (this.#headers > maxHeaderBytes) this.fault = 'HEADERS_TOO_LARGE';
    else if (this.#framing > this.#body + maxFramingBeyondBody) this.fault = 'FRAMING_TOO_LARGE';
  }

  get #isHeaderBlock(): boolean {
    const type = this.#type;
    return type === frames.headers || type === frames.continuation || type === frames.push;
  }

  /** All of a frame has come. */
  #ended(): void {
    const type = this.#type;
    if (type === frames.data && this.#isOwn && this.#has(flags.padded)) this.#uncountPadding();
    if (type === frames.reset && this.#isOwn) this.#endedWith('RST_STREAM', frameHead);
    if (type === frames.goAway) this.#endedWith('GOAWAY', frameHead + 4);
    if (this.#isOwn && (type === frames.data || type === frames.headers))
      this.#endsStream = this.#has(flags.endStream);
    const isWhole = type === frames.data || this.#has(flags.endHeaders);
    if (this.#isOwn && this.#endsStream && isWhole) this.isAnswered = true;
    this.#filled = 0;
  }

  /** What fills a frame up is no body. */
  #uncountPadding(): void {
    const padding = Math.min(this.#length, 1 + (this.#head[frameHead] ?? 0));
    this.#body -= padding;
    this.#framing += padding;
    if (this.#framing > this.#body + maxFramingBeyondBody) this.fault = 'FRAMING_TOO_LARGE';
  }

  #endedWith(frame: string, at: number): void {
    // The end of our stream says more than that of the connection, and a fault more than none.
    const isNews =
      this.ending === null || frame === 'RST_STREAM' || this.ending === 'GOAWAY NO_ERROR';
    if (isNews && this.#filled >= at + 4)
      this.ending = `${frame} ${errorName(this.#head.readUInt32BE(at))}`;
  }
}

function errorName(code: number): string {
  return errorNames[code] ?? `0x${code.toString(16)}`;
}
