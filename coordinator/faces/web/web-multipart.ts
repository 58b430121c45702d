/** A form that carries files, as it came; it is read when somebody asks for one. */
export class Multipart {
  readonly #type: string;
  readonly #bytes: Buffer;

  constructor(type: string, bytes: Buffer) {
    this.#type = type;
    this.#bytes = bytes;
  }

  /** The bytes of a file; undefined when none was chosen, or the form cannot be read. */
  async file(name: string): Promise<Uint8Array | undefined> {
    // Node's own reader; what it cannot read carries no file.
    const form = await new Response(new Uint8Array(this.#bytes), { headers: { 'content-type': this.#type } })
      .formData()
      .catch(() => undefined);
    const value = form?.get(name);
    return value === null || value === undefined || typeof value === 'string' ? undefined : new Uint8Array(await value.arrayBuffer());
  }
}
