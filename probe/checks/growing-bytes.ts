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
