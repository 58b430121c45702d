/**
 * The memory that the bodies of all checks under way take together. A body of up to 64 KiB is anybody's; for a longer one its check asks for all it may
 * need at once, so that nobody holds a part while he waits for the rest, and waits in turn where too much is held.
 *
 * Modes of a share: small (nothing is held) → (`waiting` → ) granted (all it may need is held) → released.
 */
const anybodys = 65_536;

type Waiting = { readonly share: BodyShare; readonly granted: () => void };

export class BodyMemory {
  readonly #most: number;
  #held = 0;
  readonly #waiting = new Set<Waiting>();

  constructor(most: number) {
    this.#most = most;
  }

  /** How much is held by all of them. */
  get held(): number {
    return this.#held;
  }

  share(whole: number): BodyShare {
    return new BodyShare(this, whole);
  }

  /** For shares only: true when it was granted at once; else `granted` is called in turn. */
  take(share: BodyShare, granted: () => void): boolean {
    if (this.#waiting.size === 0 && this.#hasRoom(share)) {
      this.#grant(share);
      return true;
    }
    this.#waiting.add({ share, granted });
    return false;
  }

  give(share: BodyShare): void {
    if (share.mode === 'granted') this.#held -= share.whole;
    share.mode = 'released';
    for (const one of this.#waiting) {
      if (one.share.mode === 'released') this.#waiting.delete(one);
      else if (this.#hasRoom(one.share)) {
        this.#waiting.delete(one);
        this.#grant(one.share);
        one.granted();
      } else break;
    }
  }

  /** One that is alone has room, however much it needs. */
  #hasRoom(share: BodyShare): boolean {
    return this.#held === 0 || this.#held + share.whole <= this.#most;
  }

  #grant(share: BodyShare): void {
    share.mode = 'granted';
    this.#held += share.whole;
  }
}

/** What one check may hold. */
export class BodyShare {
  mode: 'small' | 'waiting' | 'granted' | 'released' = 'small';
  readonly whole: number;
  readonly #memory: BodyMemory;

  constructor(memory: BodyMemory, whole: number) {
    this.#memory = memory;
    this.whole = whole;
  }

  /** Whether a body may grow to so many bytes now; if not, `granted` is called once it may, unless the share is released before. */
  allows(bytes: number, granted: () => void): boolean {
    if (bytes <= anybodys || this.mode === 'granted') return true;
    if (this.mode !== 'small') return false;
    this.mode = 'waiting';
    return this.#memory.take(this, granted);
  }

  release(): void {
    this.#memory.give(this);
  }
}

/**
 * Bytes that come in pieces, in one buffer that grows. Its memory is given back as soon as it is not wanted: the collector of garbage sees of a body
 * only a small object, and would leave a hundred of them lying about.
 */
export class GrowingBytes {
  readonly #most: number;
  #buffer = new ArrayBuffer(0);
  #length = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get length(): number {
    return this.#length;
  }

  /** Valid until more is added. */
  get bytes(): Buffer {
    return Buffer.from(this.#buffer, 0, this.#length);
  }

  /** Adds as much of it as there is room for. */
  add(part: Uint8Array): void {
    const count = Math.min(part.length, this.#most - this.#length);
    if (count <= 0) return;
    const needed = this.#length + count;
    const held = this.#buffer.byteLength;
    if (needed > held) this.#buffer = this.#buffer.transfer(Math.min(this.#most, Math.max(needed, held * 2)));
    new Uint8Array(this.#buffer, this.#length, count).set(count === part.length ? part : part.subarray(0, count));
    this.#length = needed;
  }

  free(): void {
    this.#buffer = this.#buffer.transfer(0);
    this.#length = 0;
  }
}
