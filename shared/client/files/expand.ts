import { isRecord } from '../../base/json.ts';
import type { Path } from '../../imports/document.ts';

/** What a file says shortly, said in full: values of `for_each`, defaults, and `${NAME}`. */

export type Raw = Readonly<Record<string, unknown>>;
export type Note = (path: Path, message: string) => void;

/** An object with the path of the part of the file that it comes from. */
type Expanded = { readonly key: string; readonly object: Raw; readonly path: Path };

const maxEach = 10_000;
const placeholder = /\{each(?:\.([A-Za-z0-9_]+))?\}/g;

/** The objects of one kind, in the order of the file. */
export function expandObjects(
  given: Raw,
  defaults: Raw,
  path: Path,
  note: Note,
): readonly Expanded[] {
  return Object.entries(given).flatMap(([key, object]) => {
    const at = [...path, key];
    if (object !== null && !isRecord(object)) {
      note(at, 'must be the fields of an object, as in `checkout: { type: https, target: … }`.');
      return [];
    }
    const { for_each: each, ...fields } = object ?? {};
    if (each === undefined) return [{ key, object: over(defaults, fields), path: at }];
    if (!Array.isArray(each) || each.length === 0 || each.length > maxEach) {
      note([...at, 'for_each'], `must be a list of 1 to ${maxEach} values.`);
      return [];
    }
    if (!key.includes('{each')) {
      note(at, 'its key must contain {each}, or all of its objects would have the same.');
      return [];
    }
    return each.map((value: unknown, index) => {
      const fill = (text: string): unknown => filled(text, value, [...at, 'for_each', index], note);
      const object = over(defaults, inEvery(fields, fill));
      return { key: String(fill(key)), object: isRecord(object) ? object : {}, path: at };
    });
  });
}

/** Maps are merged, everything else is replaced. */
function over(under: Raw, top: unknown): Raw {
  if (!isRecord(top)) return under;
  const both: Record<string, unknown> = { ...under };
  for (const [name, value] of Object.entries(top)) {
    const below = both[name];
    both[name] = isRecord(below) && isRecord(value) ? over(below, value) : value;
  }
  return both;
}

function inEvery(value: unknown, change: (text: string) => unknown): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((each) => inEvery(each, change));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, inEvery(each, change)]),
  );
}

/** A text that is nothing but the placeholder is the value itself, of whatever type. */
function filled(text: string, value: unknown, path: Path, note: Note): unknown {
  const valueFor = (field: string | undefined): unknown => {
    if (field === undefined && !isRecord(value)) return value;
    const found = isRecord(value) && field !== undefined ? value[field] : undefined;
    if (found === undefined)
      note(
        path,
        field === undefined ? 'name the field, as in {each.name}.' : `it has no "${field}".`,
      );
    return found ?? '';
  };
  const [whole] = text.matchAll(placeholder);
  if (whole?.[0] === text) return valueFor(whole[1]);
  return text.replaceAll(placeholder, (_, field: string | undefined) => String(valueFor(field)));
}

export type Outside = {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** @throws when there is no such file. */
  readonly readText: (path: string) => string;
};

const variable = /\$(\$?)\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** `${NAME}` is the variable, `$${NAME}` the text; `file:PATH` is the content of that file. */
export function fillIn(
  value: unknown,
  path: Path,
  outside: Outside | undefined,
  note: Note,
): unknown {
  if (Array.isArray(value))
    return value.map((each, index) => fillIn(each, [...path, index], outside, note));
  if (isRecord(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        name,
        fillIn(each, [...path, name], outside, note),
      ]),
    );
  if (typeof value !== 'string' || outside === undefined) return value;
  const named = path.some(mayBeSecret) ? /^file:(.+)$/s.exec(value)?.[1] : undefined;
  if (named !== undefined)
    try {
      return outside.readText(named).replace(/\r?\n$/, '');
    } catch {
      note(path, `the file ${named} cannot be read.`);
      return '';
    }
  return value.replaceAll(variable, (_, escaped: string, name: string) => {
    if (escaped !== '') return `\${${name}}`;
    const found = outside.environment[name];
    if (found === undefined) note(path, `the variable ${name} is not set.`);
    return found ?? '';
  });
}

/** Elsewhere `file:` is a text like others. */
function mayBeSecret(part: string | number): boolean {
  return part === 'config' || part === 'password';
}

/** The other way round: `${NAME}` is a text, and stays one when the file is read again. */
export function asLiteral(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(variable, (match) => `$${match}`);
  if (Array.isArray(value)) return value.map(asLiteral);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, asLiteral(each)]));
}

/** Whether a text takes its value from outside, and so may be a secret. */
export function isFromOutside(text: string): boolean {
  return text.startsWith('file:') || /(?:^|[^$])\$\{/.test(text);
}
