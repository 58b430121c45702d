import { isRecord } from '../../../shared/base/json.ts';

/** What a form carried. */
export type Form = {
  /** What the script names it by, so that it is done once even if it is sent again; it is no field. */
  readonly key: string | undefined;
  readonly names: readonly string[];
  /** The last value of a name; undefined when the form did not carry it. */
  readonly value: (name: string) => string | undefined;
  /** Every value of a name, as check boxes and lists send them. */
  readonly values: (name: string) => readonly string[];
};

const keyName = 'form_key';

export const formFrom = (text: string): Form => {
  const all = new URLSearchParams(text);
  const key = all.get(keyName) ?? undefined;
  all.delete(keyName);
  return { key, names: [...new Set(all.keys())], value: (name) => all.getAll(name).at(-1), values: (name) => all.getAll(name) };
};

export const noForm: Form = formFrom('');

/** Values as a form would carry them, to fill one with. */
export const formOf = (values: Readonly<Record<string, string | number | readonly string[] | null | undefined>>): Form => {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined) continue;
    for (const each of typeof value === 'object' ? value : [value]) all.append(name, String(each));
  }
  return formFrom(all.toString());
};

const own = (into: Record<string, unknown>, name: string): Record<string, unknown> => {
  const there = into[name];
  if (isRecord(there)) return there;
  const made: Record<string, unknown> = {};
  into[name] = made;
  return made;
};

/**
 * What an operation is given of a form: `config.timeout_s` becomes a key of `config`, a name that ends in `[]` a list. A field that was left
 * empty is left out, unless it is named in `kept`, where empty says something.
 */
export const inputOf = (form: Form, kept: readonly string[] = []): Readonly<Record<string, unknown>> => {
  const input: Record<string, unknown> = {};
  for (const name of form.names) {
    const isList = name.endsWith('[]');
    const path = (isList ? name.slice(0, -2) : name).split('.');
    // No field is called so, and an object would take it for something else.
    if (path.includes('__proto__')) continue;
    const last = path.pop() ?? '';
    const value = isList ? form.values(name).filter((each) => each !== '') : (form.value(name) ?? '');
    if (value === '' && !kept.includes(name)) continue;
    let at = input;
    for (const step of path) at = own(at, step);
    at[last] = value;
  }
  return input;
};
