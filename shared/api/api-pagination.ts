import {
  array,
  type Fault,
  type Field,
  integer,
  type JsonSchema,
  maybe,
  nullable,
  object,
  optional,
  string,
  valueFault,
} from './api-fields.ts';

const pageSize = { least: 1, most: 200, default: 50 } as const;

/** The query of every list. A cursor is read by the store, which knows what it was given for. */
export const pageQuery = {
  limit: optional(
    integer({ ge: pageSize.least, le: pageSize.most }, { description: 'How many items the page may hold.' }),
    pageSize.default,
  ),
  cursor: maybe(string({ minLength: 1 }), {
    description: 'The `next_cursor` of the page before, as it is: it is good for this list with these filters alone, and has no end.',
  }),
};

export const page = <Name extends string, Item>(name: Name, item: Field<Item>, more: JsonSchema = {}) =>
  object(
    name,
    {
      items: array(item),
      next_cursor: maybe(string(), { description: 'Send it back as `cursor` for the next page; null when the walk is over.' }),
    },
    more,
  );

/** What a list answers to a cursor that it did not give. */
export const cursorFault = (cursor: string): Fault =>
  valueFault(['query', 'cursor'], 'not a cursor of this list as it is asked for now; begin again without one', cursor);

export const nullableString = (description: string) => nullable(string(), { description });
