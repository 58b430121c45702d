import { isRecord } from '../base/json-record.ts';

/** `--fields name,config.timeout_ms`: each as the keys that lead to it. */
export type Fields = readonly (readonly string[])[];

export const fieldsOf = (text: string): Fields =>
  text
    .split(',')
    .map((field) => field.trim())
    .filter((field) => field !== '')
    .map((field) => field.split('.'));

export const valueAt = (item: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined), item);

const put = (target: Record<string, unknown>, [first = '', ...rest]: readonly string[], value: unknown): void => {
  const inner = target[first];
  if (rest.length === 0) target[first] = value;
  else {
    const next = isRecord(inner) ? inner : {};
    target[first] = next;
    put(next, rest, value);
  }
};

const pick = (item: unknown, fields: Fields): Record<string, unknown> => {
  const picked: Record<string, unknown> = {};
  for (const path of fields) {
    const value = valueAt(item, path);
    if (value !== undefined && !path.includes('__proto__')) put(picked, path, value);
  }
  return picked;
};

const itemsOf = (body: unknown): readonly unknown[] => (isRecord(body) && Array.isArray(body.items) ? body.items : [body]);

/** The answer in its own shape with nothing but these fields: of a list each of its items, of one thing that. */
export const withFields = (body: unknown, fields: Fields): unknown => {
  if (!isRecord(body)) return body;
  return Array.isArray(body.items) ? { ...body, items: body.items.map((item: unknown) => pick(item, fields)) } : pick(body, fields);
};

/** What was asked for and nothing has, and the names that there are; what lies deeper may well be absent. */
export const missingFields = (body: unknown, fields: Fields): { readonly missing: string[]; readonly there: string[] } => {
  const items = itemsOf(body).filter(isRecord);
  const missing = items.length === 0 ? [] : fields.filter(([first = '']) => items.every((item) => !Object.hasOwn(item, first)));
  return { missing: missing.map((path) => path.join('.')), there: [...new Set(items.flatMap((item) => Object.keys(item)))] };
};
