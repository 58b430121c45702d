import { UsageFault } from '../base/command-line.ts';
import { lossyNumberIn } from '../base/exact-numbers.ts';
import { isRecord, memberOf } from '../base/json-record.ts';

/** Many things in one command: read from a file or from what is piped in, sent in parts that the service takes, told as one. */

/** As many as the service takes in one call. */
export const mostInCall = 500;

const parsed = (text: string, place: string): unknown => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageFault(`${place} is not valid JSON (${error instanceof Error ? error.message : String(error)}).`);
  }
  const lossy = lossyNumberIn(text);
  if (lossy !== undefined)
    throw new UsageFault(`${place}: the number ${lossy.slice(0, 40)} is not kept exactly; write it as a text, in double quotes.`);
  return value;
};

const arrayIn = (value: unknown): readonly unknown[] | undefined => {
  const items = isRecord(value) && Array.isArray(value.items) ? value.items : value;
  return Array.isArray(items) ? items : undefined;
};

/** A JSON array, an object with `items` as lists answer it, or one JSON object a line. @throws UsageFault that names the line. */
export const itemsIn = (flag: string, text: string): readonly unknown[] => {
  const trimmed = text.replace(/^\ufeff/, '').trim();
  if (trimmed === '') throw new UsageFault(`--${flag}: there is nothing in it; give a JSON array, or one JSON object a line.`);
  const lines = trimmed.split(/\r?\n/);
  const isWhole = trimmed.startsWith('[') || lines[0] === '{' || lines.length === 1;
  const whole = isWhole ? parsed(trimmed, `--${flag}`) : undefined;
  const items =
    arrayIn(whole) ??
    (isWhole ? [whole] : lines.flatMap((line, index) => (line.trim() === '' ? [] : [parsed(line, `--${flag}, line ${index + 1}`)])));
  const odd = items.findIndex((item) => !isRecord(item));
  if (odd >= 0) throw new UsageFault(`--${flag}: item ${odd + 1} is no JSON object.`);
  return items;
};

/** Bodies that the service takes, one after the other. All or none can only be promised within one call. */
export const partsOf = (body: unknown): readonly unknown[] => {
  const items = memberOf(body, 'items');
  if (!isRecord(body) || !Array.isArray(items) || items.length <= mostInCall) return [body];
  if (body.mode !== 'each')
    throw new UsageFault(
      `${items.length.toLocaleString('en')} at once are more than ${mostInCall}, and so cannot be made all or none: say --mode each, or send fewer.`,
    );
  const parts: unknown[] = [];
  for (let from = 0; from < items.length; from += mostInCall) parts.push({ ...body, items: items.slice(from, from + mostInCall) });
  return parts;
};

const numberOf = (body: unknown, key: string): number => {
  const value = memberOf(body, key);
  return typeof value === 'number' ? value : 0;
};

const counts = ['created', 'changed', 'refused'] as const;

/** The answers to all parts as the answer to one. */
export const togetherOf = (answers: readonly unknown[]): unknown => {
  const [first] = answers;
  if (answers.length <= 1) return first;
  const items = answers.flatMap((answer): unknown[] => {
    const those = memberOf(answer, 'items');
    return Array.isArray(those) ? those : [];
  });
  const sums = counts.map((key) => [key, answers.reduce<number>((sum, answer) => sum + numberOf(answer, key), 0)] as const);
  return { applied: answers.every((answer) => memberOf(answer, 'applied') === true), ...Object.fromEntries(sums), items };
};

/** What a person reads below the lines of the items. */
export const summaryOf = (body: unknown): string => {
  const told = counts.map((key) => `${numberOf(body, key).toLocaleString('en')} ${key}`).join(', ');
  return memberOf(body, 'applied') === false
    ? `Nothing was done, because one was refused: ${told}. With --mode each the others are done.\n`
    : `${told}.\n`;
};

export const hasRefused = (body: unknown): boolean => numberOf(body, 'refused') > 0;
