type Then = (received?: unknown, refused?: unknown) => unknown;

/** What all queries of the client inherit. */
type Queries = { then: Then };

const isQueries = (value: unknown): value is Queries =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'then');

const lightened = new WeakSet<object>();
const readTwice =
  'the rows of this statement were received before; a statement hands them out once';

/**
 * Makes whoever awaits a query the only one who holds its rows.
 *
 * The client (postgres.js 3.4.9) writes `this.resolve = (x) => …` for each query. V8 allocates a
 * function that is assigned to a property among the old objects, where it lives until the next long
 * collection, and so does all that it reaches: the query, its promise, and the rows. Each short
 * collection then copied the rows of all statements since the last one, and long ones were due twice
 * as often.
 */
export const lightenQueries = (anyQuery: object): void => {
  const queries: unknown = Object.getPrototypeOf(anyQuery);
  if (!isQueries(queries) || lightened.has(queries)) return;
  lightened.add(queries);
  const settle = queries.then;
  const received = new WeakSet<object>();
  // biome-ignore lint/suspicious/noThenProperty: queries have one, and it is wrapped.
  queries.then = function (this: object, take, refuse) {
    if (typeof take !== 'function') return settle.call(this, take, refuse);
    const receive = (answer: unknown): unknown => {
      if (!Array.isArray(answer)) return take(answer);
      if (received.has(this)) {
        const fault = new Error(readTwice);
        if (typeof refuse !== 'function') throw fault;
        return refuse(fault);
      }
      Object.assign(this, spent);
      if (answer.length === 0) return take(answer);
      received.add(this);
      return take(new Rows(answer));
    };
    return settle.call(this, receive, refuse);
  };
};

/** What a query was sent as, which the client needs no more: as large as many an answer. */
const spent = { string: '', signature: '', parameters: [], args: [] };

/** The rows of an answer, with what the client says of it beside them. */
class Rows extends Array<unknown> {
  readonly #answer: object;

  /** What filter() and map() make of them are arrays like others. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  constructor(answer: unknown[]) {
    super();
    this.#answer = answer;
    for (const row of answer) this.push(row);
    answer.length = 0;
  }

  get count(): unknown {
    return Reflect.get(this.#answer, 'count');
  }

  get command(): unknown {
    return Reflect.get(this.#answer, 'command');
  }

  get columns(): unknown {
    return Reflect.get(this.#answer, 'columns');
  }

  get statement(): unknown {
    return Reflect.get(this.#answer, 'statement');
  }

  get state(): unknown {
    return Reflect.get(this.#answer, 'state');
  }
}
