import type { Json } from '../checks-result.ts';

/** A way into a JSON document: names and indices; a negative index counts from the end. */
export type JsonPath = readonly (string | number)[];

const mostSteps = 32;
const step = /\.?([A-Za-z_$][\w$-]*)|\.?\[(-?\d{1,9})\]|\.?\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]|\.(\d{1,9})/y;

/** Reads `$.a.b[0]["odd name"]`; `$.` at the start may be left out. Undefined when it cannot be read. */
export const parseJsonPath = (text: string): JsonPath | undefined => {
  const path: (string | number)[] = [];
  let at = text.startsWith('$') && (text.length === 1 || text[1] === '.' || text[1] === '[') ? 1 : 0;
  if (at === text.length) return at === 1 ? path : undefined;
  while (at < text.length) {
    step.lastIndex = at;
    const found = step.exec(text);
    if (!found || path.length === mostSteps) return undefined;
    const [whole, name, index, double, single, dotted] = found;
    // The first step needs no dot, each later name needs one.
    if (name !== undefined && whole[0] !== '.' && at !== 0) return undefined;
    const quoted = double ?? single;
    if (name !== undefined) path.push(name);
    else if (quoted !== undefined) path.push(quoted.replaceAll(/\\(.)/g, '$1'));
    else path.push(Number(index ?? dotted));
    at += whole.length;
  }
  return path;
};

/** What a document has at a path; undefined where it has nothing. `length` of a list or text is its length. */
export const atJsonPath = (document: Json, path: JsonPath): Json | undefined => {
  let value: Json | undefined = document;
  for (const key of path) {
    if (value === undefined || value === null) return undefined;
    if (Array.isArray(value)) value = typeof key === 'number' ? value.at(key) : key === 'length' ? value.length : undefined;
    else if (typeof value === 'object') value = member(value, String(key));
    else value = typeof value === 'string' && key === 'length' ? value.length : undefined;
  }
  return value;
};

const member = (object: object, key: string): Json | undefined =>
  Object.hasOwn(object, key) ? Object.getOwnPropertyDescriptor(object, key)?.value : undefined;
