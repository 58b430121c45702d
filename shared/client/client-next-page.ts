import { isRecord } from '../base/json-record.ts';

/** Where a list goes on, and the part of the query that says so. */
export type Next = { readonly key: 'cursor' | 'after'; readonly value: string };

/** Where the list goes on after this answer; undefined once it is whole. What changed is walked by `after`, which is there when all is told as well. */
export const nextOf = (body: unknown): Next | undefined => {
  if (!isRecord(body)) return undefined;
  const { next_cursor: cursor, after, more } = body;
  if (typeof cursor === 'string') return { key: 'cursor', value: cursor };
  return more === true && typeof after === 'string' ? { key: 'after', value: after } : undefined;
};
