const mostParts = 64;

/** A form that carries files, as it came; it is read when somebody asks for one. */
export class Multipart {
  readonly #type: string;
  readonly #bytes: Buffer;

  constructor(type: string, bytes: Buffer) {
    this.#type = type;
    this.#bytes = bytes;
  }

  /** Each part costs the reader much more than its bytes, and none of our forms has many. */
  #hasTooManyParts(): boolean {
    const boundary = /boundary="?([^";]+)/i.exec(this.#type)?.[1];
    if (boundary === undefined) return false;
    const mark = Buffer.from(`--${boundary}`);
    let found = 0;
    for (let at = this.#bytes.indexOf(mark); at >= 0 && found <= mostParts; at = this.#bytes.indexOf(mark, at + mark.length)) found += 1;
    return found > mostParts;
  }

  /** The bytes of a file; undefined when none was chosen, or the form cannot be read. */
  async file(name: string): Promise<Uint8Array | undefined> {
    if (this.#hasTooManyParts()) return undefined;
    // Node's own reader; what it cannot read carries no file.
    const form = await new Response(new Uint8Array(this.#bytes), { headers: { 'content-type': this.#type } })
      .formData()
      .catch(() => undefined);
    const value = form?.get(name);
    return value === null || value === undefined || typeof value === 'string' ? undefined : new Uint8Array(await value.arrayBuffer());
  }
}
