import { configKeys, isKind } from '../api/config-keys.ts';
import { type FileKind, keyFrom, objectFaults } from '../api/files.ts';
import { isSecretName } from '../api/operation.ts';
import { isRecord } from '../base/json.ts';
import type { Raw } from './rows.ts';

/** What another program's configuration becomes: objects of a file, and what it cannot say. */
export type Imported = {
  readonly objects: Readonly<Record<FileKind, Readonly<Record<string, Raw>>>>;
  /** A reason each, with the names of everything that it is about: nothing is dropped in silence. */
  readonly omissions: readonly Omission[];
  /** Variables that the file expects in place of secrets. */
  readonly variables: readonly Variable[];
};

export type Omission = { readonly why: string; readonly of: readonly string[] };
export type Variable = { readonly name: string; readonly meaning: string };

/** An import under way. */
export type Work = {
  /** Adds an object under a key from its name; the key, unless it cannot be an object at all. */
  readonly add: (kind: FileKind, name: string, object: Raw) => string | undefined;
  readonly omit: (name: string, why: string) => void;
  /** What stands for a secret in a text of an object: a variable, one for each value. */
  readonly secret: (name: string, what: string, value: string) => string;
  readonly done: () => Imported;
};

/**
 * `variables: 'same'`: the source itself takes `${NAME}` from the environment, and goes on to do so.
 */
export function beginImport({
  variables: source = 'none',
}: {
  readonly variables?: 'same' | 'none';
} = {}): Work {
  const objects: Record<FileKind, Record<string, Raw>> = {
    groups: {},
    monitors: {},
    channels: {},
    maintenance: {},
    objectives: {},
    status_pages: {},
  };
  const omissions = new Map<string, Set<string>>();
  const variables = new Map<string, string>();
  const byValue = new Map<string, string>();
  const numbers = new Map<string, number>();

  /** The name itself, or with a number that nothing else has. */
  const free = (wanted: string, joined: '-' | '_', isTaken: (name: string) => boolean): string => {
    if (!isTaken(wanted)) return wanted;
    // Many have one name: each goes on counting where the one before stopped.
    for (let number = numbers.get(wanted) ?? 2; ; number += 1) {
      const name = `${wanted}${joined}${number}`;
      if (isTaken(name)) continue;
      numbers.set(wanted, number + 1);
      return name;
    }
  };
  const omit = (name: string, why: string): void => {
    const of = omissions.get(why) ?? new Set();
    omissions.set(why, of.add(name === '' ? '(without a name)' : name));
  };
  const nameVariable = (wanted: string, what: string): string => {
    const word = wanted.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
    const name = free(/^[A-Z]/.test(word) ? word : `IMPORT_${word}`, '_', (one) =>
      variables.has(one),
    );
    variables.set(name, what);
    return name;
  };
  /** Notes the variables that such a source names itself. */
  const isFromOutside = (text: string, what: string): boolean => {
    const names = source === 'same' ? [...text.matchAll(/\$\{([A-Za-z_]\w*)\}/g)] : [];
    for (const [, name = ''] of names) if (!variables.has(name)) variables.set(name, what);
    return names.length > 0;
  };
  const secret = (name: string, what: string, value: string): string => {
    const meaning = `${what} of ${name}`;
    if (isFromOutside(value, meaning)) return value;
    const variable = byValue.get(value) ?? nameVariable(`${keyFrom(name)}_${what}`, meaning);
    if (value !== '') byValue.set(value, variable);
    return mark(variable);
  };

  /** The text as a file says it: `${NAME}` there is a variable, and `file:` a file. */
  const written = (text: string, name: string, path: readonly string[]): string => {
    const last = path.at(-1) ?? '';
    const isHidden = path[0] === 'config' || path[0] === 'password';
    const mustHide =
      isSecretName(last) || last === 'client_certificate' || text.startsWith('file:');
    if (isFromOutside(text, `${last} of ${name}`)) return text;
    if (isHidden && mustHide && text !== '' && !text.includes(marker))
      return written(secret(name, last, text), name, path);
    const escaped = text.replaceAll(/\$\{(?=[A-Za-z_]\w*\})/g, '$$$${');
    return escaped.replaceAll(markers, (_, variable: string) => `\${${variable}}`);
  };
  const finish = (value: unknown, name: string, path: readonly string[] = []): unknown => {
    if (typeof value === 'string') return written(value, name, path);
    if (Array.isArray(value)) return value.map((each) => finish(each, name, [...path, '']));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, each]) =>
        // Deeper down an empty text is one: a user without a name.
        path.length < 2 && isEmpty(each) ? [] : [[key, finish(each, name, [...path, key])]],
      ),
    );
  };
  /** Only values that a key of the config has. */
  const withChoices = (object: Raw, name: string): Raw => {
    const { type, config } = object;
    if (typeof type !== 'string' || !isKind(type) || !isRecord(config)) return object;
    const known: Readonly<Record<string, { readonly choices?: readonly string[] }>> =
      configKeys[type];
    const isChoice = ([key, value]: readonly [string, unknown]): boolean => {
      const choices = known[key]?.choices;
      if (choices === undefined || typeof value !== 'string' || choices.includes(value))
        return true;
      omit(name, `its ${key} ${value.slice(0, 40)} has no counterpart.`);
      return false;
    };
    return { ...object, config: Object.fromEntries(Object.entries(config).filter(isChoice)) };
  };

  return {
    omit,
    secret,
    add: (kind, name, given) => {
      const [title, key] = [
        name.trim().slice(0, 200),
        free(keyFrom(name) || kind.replace(/s$/, ''), '-', (one) =>
          Object.hasOwn(objects[kind], one),
        ),
      ];
      const named = title === '' || title === key ? {} : { name: title };
      const finished = finish({ ...named, ...given }, name);
      const whole = withChoices(isRecord(finished) ? finished : {}, name);
      const fields = new Set<string>();
      for (const { loc, msg } of objectFaults(kind, whole, [])) {
        const field = String(loc[0] ?? '');
        if (!fields.has(field)) omit(name, `its ${field} cannot be taken over: ${sentence(msg)}`);
        fields.add(field);
      }
      const rest = Object.fromEntries(Object.entries(whole).filter(([one]) => !fields.has(one)));
      if (objectFaults(kind, rest, []).length > 0) {
        omit(name, 'it is left out, because it lacks what it needs.');
        return undefined;
      }
      objects[kind][key] = rest;
      return key;
    },
    done: () => ({
      objects,
      omissions: [...omissions].map(([why, of]) => ({ why, of: [...of] })),
      variables: [...variables].map(([name, what]) => ({ name, meaning: what })),
    }),
  };
}

/** Around the name of a variable in a text; sources have none, because `cleaned` takes them out. */
const marker = '\u0000';

function mark(variable: string): string {
  return `${marker}${variable}${marker}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the marker.
const markers = /\u0000(\w+)\u0000/g;

function isEmpty(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (Array.isArray(value) && value.length === 0) ||
    (isRecord(value) && Object.values(value).every(isEmpty))
  );
}

function sentence(message: string): string {
  const text = message.replace(/^Value error, /, '');
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

/** What has no counterpart, and which variables to set, for people. Empty when there is nothing. */
export function reportOf({ omissions, variables }: Imported): string {
  const of = (names: readonly string[]): string => names.join(', ').replaceAll(/\s+/g, ' ');
  const lines = [
    ...(omissions.length === 0 ? [] : ['What has no counterpart, or is another one:']),
    ...omissions.map(({ why, of: names }) => `- ${of(names)}: ${why}`),
    ...(variables.length === 0 ? [] : ['Set these variables before plan and apply:']),
    ...variables.map(({ name, meaning }) => `- ${name}: ${meaning.replaceAll(/\s+/g, ' ')}`),
  ];
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}
