import { MIMEType } from 'node:util';
import { isRecord } from '../../shared/base/json.ts';

/** The content of a form. */
export type Form = {
  /**
   * The key that the script gave it, so that it is done once even if it is sent again; it is not a
   * field.
   */
  readonly key: string | undefined;
  readonly names: readonly string[];
  /** The last value of a name; undefined when the form has none. */
  readonly value: (name: string) => string | undefined;
  /** Every value of a name, as check boxes and lists send them. */
  readonly values: (name: string) => readonly string[];
};

const keyName = 'form_key';

export function formFrom(text: string): Form {
  const all = new URLSearchParams(text);
  const key = all.get(keyName) ?? undefined;
  all.delete(keyName);
  return {
    key,
    names: [...new Set(all.keys())],
    value: (name) => all.getAll(name).at(-1),
    values: (name) => all.getAll(name),
  };
}

export const noForm: Form = formFrom('');

/** Values as a form would send them, used to fill one. */
export function formOf(
  values: Readonly<
    Record<string, string | number | boolean | readonly string[] | null | undefined>
  >,
): Form {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined) continue;
    for (const each of typeof value === 'object' ? value : [value]) all.append(name, String(each));
  }
  return formFrom(all.toString());
}

/**
 * The input of an operation from a form: `config.timeout_s` becomes a key of `config`, a name that
 * ends in `[]` a list. An empty field is left out, unless it is named in `kept`, where empty has a
 * meaning.
 */
export function inputOf(
  form: Form,
  kept: readonly string[] = [],
): Readonly<Record<string, unknown>> {
  const input: Record<string, unknown> = {};
  for (const name of form.names) {
    const isList = name.endsWith('[]');
    const path = (isList ? name.slice(0, -2) : name).split('.');
    // No field has this name, and an object would treat it specially.
    if (path.includes('__proto__')) continue;
    const last = path.pop() ?? '';
    const value = isList
      ? form.values(name).filter((each) => each !== '')
      : (form.value(name) ?? '');
    if (value === '' && !kept.includes(name)) continue;
    let at = input;
    for (const step of path) at = own(at, step);
    at[last] = value;
  }
  return input;
}

function own(into: Record<string, unknown>, name: string): Record<string, unknown> {
  const there = into[name];
  if (isRecord(there)) return there;
  const made: Record<string, unknown> = {};
  into[name] = made;
  return made;
}

const maxParts = 64;

/** A form with files, unparsed; it is parsed when a file is read. */
export class Multipart {
  readonly #boundary: string | undefined;
  readonly #bytes: Buffer;

  constructor(type: string, bytes: Buffer) {
    this.#boundary = boundaryOf(type);
    this.#bytes = bytes;
  }

  /** Each part costs the parser much more than its bytes, and none of our forms has many. */
  #hasTooManyParts(boundary: string): boolean {
    const mark = Buffer.from(`--${boundary}`);
    let found = 0;
    for (
      let at = this.#bytes.indexOf(mark);
      at >= 0 && found <= maxParts;
      at = this.#bytes.indexOf(mark, at + mark.length)
    )
      found += 1;
    return found > maxParts;
  }

  /** The bytes of a file; undefined when none was chosen, or the form is unreadable. */
  async file(name: string): Promise<Uint8Array | undefined> {
    const boundary = this.#boundary;
    if (boundary === undefined || this.#hasTooManyParts(boundary)) return undefined;
    // Node's own parser; an unreadable form has no file. The parser gets the boundary whose parts
    // were counted, and nothing else from the header.
    const form = await new Response(new Uint8Array(this.#bytes), {
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    })
      .formData()
      .catch(() => undefined);
    const value = form?.get(name);
    return value === null || value === undefined || typeof value === 'string'
      ? undefined
      : new Uint8Array(await value.arrayBuffer());
  }
}

function boundaryOf(type: string): string | undefined {
  try {
    return new MIMEType(type).params.get('boundary') ?? undefined;
  } catch (error) {
    // An invalid content type names no boundary.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
