import type { Field } from '../../shared/api/fields.ts';
import type { OutputOf } from '../../shared/api/operation.ts';
import { isRecord } from '../../shared/base/json.ts';

/** What a handler may answer with: epoch milliseconds for a date-time, and rows that hold more. */
export type AnswerOf<Op> = Answerable<OutputOf<Op>>;

export type Answerable<T> = T extends string
  ? 'isMoment' extends keyof T
    ? string | number
    : T
  : T extends readonly (infer Item)[]
    ? readonly Answerable<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Answerable<T[Key]> }
      : T;

/** An answer as its contract has it: with these members alone, and date-times as texts. */
export function written({ item, shape, isMoment }: Field<unknown>, value: unknown): unknown {
  if (isMoment && typeof value === 'number') return new Date(value).toISOString();
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value) && item) return value.map((each: unknown) => written(item, each));
  if (!isRecord(value) || !shape) return value;
  const given = Object.keys(value);
  // What holds more than the answer takes its order from the contract.
  const isRow = given.some((key) => !Object.hasOwn(shape, key));
  const answer: Record<string, unknown> = {};
  for (const key of isRow ? Object.keys(shape) : given) {
    const field = shape[key];
    if (field && Object.hasOwn(value, key)) answer[key] = written(field, value[key]);
  }
  return answer;
}
