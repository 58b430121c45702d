import { z } from 'zod';

/** One way to say which statuses are expected: a number, a range "200-299" or a class "2xx". */
const range = /^([1-5]\d\d)\s*-\s*([1-5]\d\d)$/;
const ofClass = /^[1-5]xx$/i;

const bounds = (entry: string | number): readonly [number, number] | undefined => {
  const text = String(entry).trim();
  if (/^[1-5]\d\d$/.test(text)) return [Number(text), Number(text)];
  if (ofClass.test(text)) return [Number(text[0]) * 100, Number(text[0]) * 100 + 99];
  const [, from, to] = range.exec(text) ?? [];
  return from !== undefined && to !== undefined && Number(from) <= Number(to) ? [Number(from), Number(to)] : undefined;
};

/** The same for the document, whose readers cannot ask `bounds`. */
const told = z.union([
  z.number().meta({ minimum: 100, maximum: 599 }),
  z.string().meta({ pattern: '^[1-5](?:[0-9]{2}(?: ?- ?[1-5][0-9]{2})?|[xX]{2})$' }),
]);

export const expectedStatusSchema = z
  .array(told.refine((entry) => bounds(entry) !== undefined))
  .min(1)
  .max(30);

/** Which statuses are expected, and the words for it in a cause. */
export type ExpectedStatus = { readonly matches: (status: number) => boolean; readonly words: string };

export const expectedStatus = (entries: readonly (string | number)[]): ExpectedStatus => {
  const ranges = entries.flatMap((entry) => {
    const pair = bounds(entry);
    return pair ? [pair] : [];
  });
  return {
    matches: (status) => ranges.some(([from, to]) => status >= from && status <= to),
    words: entries.map((entry) => String(entry).trim().toLowerCase()).join(', '),
  };
};
