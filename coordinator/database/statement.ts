/**
 * Statements as tagged templates: each value becomes a parameter, and nothing is ever pasted into
 * the text.
 */

/** What a statement takes as a parameter. */
type Parameter = string | number | bigint | boolean | Date | Uint8Array | null;
type Value = Parameter | readonly Parameter[] | Part;

/** An answer: its rows, and how many rows the statement read or wrote. */
export type Rows<Row extends readonly unknown[]> = Row & { readonly count: number };

/** A statement in the client's form. */
type Written = {
  readonly text: string;
  readonly values: readonly (string | Buffer | null)[];
  /** Whether it is prepared by its first use. A text of several statements cannot be. */
  readonly isPrepared: boolean;
};

/** A piece of SQL with its parameters. */
export class Part {
  readonly texts: readonly string[];
  readonly values: readonly Value[];

  constructor(texts: readonly string[], values: readonly Value[]) {
    this.texts = texts;
    this.values = values;
  }

  write(): Written {
    const values: (string | Buffer | null)[] = [];
    const write = (part: Part): string => {
      let text = part.texts[0] ?? '';
      part.values.forEach((value, index) => {
        text += value instanceof Part ? write(value) : place(value, values);
        text += part.texts[index + 1] ?? '';
      });
      return text;
    };
    return { text: write(this), values, isPrepared: true };
  }
}

/**
 * A statement that is not sent yet: the first who waits for it, or `execute`, sends it. Inside
 * another statement it is a part of that.
 */
export class Query<Row extends readonly unknown[] = readonly unknown[]>
  extends Part
  implements Promise<Rows<Row>>
{
  readonly [Symbol.toStringTag] = 'Query';
  readonly #send: (query: Part) => Promise<Rows<Row>>;
  #sent: Promise<Rows<Row>> | undefined;

  constructor(
    texts: readonly string[],
    values: readonly Value[],
    send: (query: Part) => Promise<Rows<Row>>,
  ) {
    super(texts, values);
    this.#send = send;
  }

  execute(): Promise<Rows<Row>> {
    this.#sent ??= this.#send(this);
    return this.#sent;
  }

  // biome-ignore lint/suspicious/noThenProperty: who waits for a statement sends it.
  then<One = Rows<Row>, Other = never>(
    done?: ((rows: Rows<Row>) => One | PromiseLike<One>) | null,
    failed?: ((error: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<One | Other> {
    return this.execute().then(done, failed);
  }

  catch<Other = never>(
    failed?: ((error: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<Rows<Row> | Other> {
    return this.execute().catch(failed);
  }

  finally(after?: (() => void) | null): Promise<Rows<Row>> {
    return this.execute().finally(after);
  }
}

/** Makes statements. A name or a list of names becomes quoted identifiers. */
export type Queryable = {
  <Row extends readonly unknown[] = Record<string, unknown>[]>(
    texts: TemplateStringsArray,
    ...values: readonly Value[]
  ): Query<Row>;
  (names: string | readonly string[]): Part;
  /** SQL from a text of our own. */
  readonly unsafe: <Row extends readonly unknown[] = Record<string, unknown>[]>(
    text: string,
    values?: readonly Value[],
  ) => Query<Row>;
};

export function createQueryable(
  send: <Row extends readonly unknown[]>(part: Part) => Promise<Rows<Row>>,
): Queryable {
  function make<Row extends readonly unknown[]>(
    texts: TemplateStringsArray,
    ...values: readonly Value[]
  ): Query<Row>;
  function make(names: string | readonly string[]): Part;
  function make(
    first: TemplateStringsArray | string | readonly string[],
    ...values: readonly Value[]
  ): Part {
    if (typeof first === 'string') return new Part([quoted(first)], []);
    return 'raw' in first
      ? new Query(first, values, send)
      : new Part([first.map(quoted).join(', ')], []);
  }
  return Object.assign(make, {
    unsafe: <Row extends readonly unknown[]>(text: string, values: readonly Value[] = []) =>
      // `$1` and the like are there already: each value stands for itself.
      new Query<Row>([text], [], ({ texts }) => send(new Numbered(texts, values))),
  });
}

/** A text that numbers its parameters itself. */
class Numbered extends Part {
  override write(): Written {
    const values: (string | Buffer | null)[] = [];
    for (const value of this.values) if (!(value instanceof Part)) place(value, values);
    return { text: this.texts.join(''), values, isPrepared: values.length > 0 };
  }
}

/** A point separates a table from its column. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""').replaceAll('.', '"."')}"`;
}

/**
 * The database infers the type of a parameter from its place. Where that says nothing, or where
 * another type would do as well (a moment minus an interval), the value itself says which it is.
 */
function place(value: Exclude<Value, Part>, values: (string | Buffer | null)[]): string {
  values.push(parameterOf(value));
  const name = `$${values.length}`;
  if (typeof value === 'boolean') return `${name}::boolean`;
  if (value instanceof Date) return `${name}::timestamptz`;
  return value instanceof Uint8Array ? `${name}::bytea` : name;
}

function parameterOf(value: Exclude<Value, Part>): string | Buffer | null {
  if (value === null || typeof value === 'string') return value;
  if (isList(value)) return arrayText(value);
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof Date) return value.toISOString();
  // The type of parameters admits none, but a test or a cast may bring one.
  if (value === undefined) throw new TypeError('a parameter of the statement is undefined');
  return String(value);
}

function isList(value: Exclude<Value, Part>): value is readonly Parameter[] {
  return Array.isArray(value);
}

/** An array as Postgres reads it. */
function arrayText(values: readonly Parameter[]): string {
  // JSON writes arrays of numbers in half the time of join(). Its null, also for NaN, is NULL.
  if (values.every((value) => value === null || typeof value === 'number'))
    return `{${JSON.stringify(values).slice(1, -1)}}`;
  return `{${values.map(elementText).join(',')}}`;
}

/** Quoted, so that no text from outside has a special meaning. */
function elementText(value: Parameter): string {
  if (value === null) return 'NULL';
  const text =
    value instanceof Uint8Array
      ? `\\x${Buffer.from(value).toString('hex')}`
      : String(parameterOf(value));
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/**
 * How a value of each type of the database is read, by the type's number, which is the same in
 * every Postgres. Our ids and counts stay far below 2^53, so a plain number holds every bigint that
 * we store, and a moment in epoch milliseconds. All other types stay texts.
 */
const readers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't',
  17: (text) => Buffer.from(text.slice(2), 'hex'),
  ...ofAll([20, 21, 23, 26, 700, 701], Number),
  ...ofAll([114, 3802], (text): unknown => JSON.parse(text)),
  ...ofAll([1082, 1114, 1184], Date.parse),
  ...ofAll([1005, 1007, 1016, 1021, 1022], (text) =>
    elementsOf(text).map((one) => (one === null ? null : Number(one))),
  ),
  ...ofAll([1003, 1009, 1015, 2951], elementsOf),
};

function ofAll(types: readonly number[], read: (text: string) => unknown) {
  return Object.fromEntries(types.map((type) => [type, read]));
}

const element = /"((?:[^"\\]|\\.)*)"|([^,]+)/gs;

function elementsOf(text: string): (string | null)[] {
  return [...text.slice(1, -1).matchAll(element)].map(([, inQuotes, bare]) => {
    if (inQuotes !== undefined) return inQuotes.replaceAll(/\\(.)/gs, '$1');
    return bare === undefined || bare === 'NULL' ? null : bare;
  });
}

export const types = {
  getTypeParser: (type: number) => readers[type] ?? String,
};
