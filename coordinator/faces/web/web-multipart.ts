import { MIMEType } from 'node:util';

const mostParts = 64;

const boundaryOf = (type: string): string | undefined => {
  try {
    return new MIMEType(type).params.get('boundary') ?? undefined;
  } catch (error) {
    // What is no type at all names no boundary.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
};

/** A form that carries files, as it came; it is read when somebody asks for one. */
export class Multipart {
  readonly #boundary: string | undefined;
  readonly #bytes: Buffer;

  constructor(type: string, bytes: Buffer) {
    this.#boundary = boundaryOf(type);
    this.#bytes = bytes;
  }

  /** Each part costs the reader much more than its bytes, and none of our forms has many. */
  #hasTooManyParts(boundary: string): boolean {
    const mark = Buffer.from(`--${boundary}`);
    let found = 0;
    for (let at = this.#bytes.indexOf(mark); at >= 0 && found <= mostParts; at = this.#bytes.indexOf(mark, at + mark.length)) found += 1;
    return found > mostParts;
  }

  /** The bytes of a file; undefined when none was chosen, or the form cannot be read. */
  async file(name: string): Promise<Uint8Array | undefined> {
    const boundary = this.#boundary;
    if (boundary === undefined || this.#hasTooManyParts(boundary)) return undefined;
    // Node's own reader; what it cannot read carries no file. It gets the boundary that was counted, and nothing else of what the header says.
    const form = await new Response(new Uint8Array(this.#bytes), {
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    })
      .formData()
      .catch(() => undefined);
    const value = form?.get(name);
    return value === null || value === undefined || typeof value === 'string' ? undefined : new Uint8Array(await value.arrayBuffer());
  }
}
