import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { commandName, commandNamed, type Named, UsageFault } from '../base/env.ts';
import { isRecord, lossyNumberIn } from '../base/json.ts';
import { nearest } from '../base/text.ts';

/** Reads command lines: those of the client, and those of the operator. */

export type FlagKind = 'text' | 'number' | 'boolean' | 'object' | 'objects' | 'list';

export type Flag = {
  /** As typed, without the dashes: `interval-s`; lists repeat under their singular. */
  readonly name: string;
  readonly key: string;
  readonly kind: FlagKind;
  readonly required: boolean;
  readonly choices: readonly string[];
  /** Words that a shell completes; others are sent too, because the service may know more. */
  readonly offered: readonly string[];
  readonly hint: string;
  /** What help shows for its value; the default depends on its kind. */
  readonly placeholder?: string;
};

/** A flag that no contract describes. */
export function flag(name: string, hint: string, more: Partial<Flag> = {}): Flag {
  return {
    name,
    key: name,
    hint,
    kind: 'text',
    required: false,
    choices: [],
    offered: [],
    ...more,
  };
}

/** It works without a value. */
export const alone = { kind: 'boolean', placeholder: '' } as const;

type Command = Named & { readonly flags: readonly Flag[] };

/** A flag as typed. */
type Typed = { readonly name: string; readonly value: string | undefined };

/** Words and flags, each in the order in which they were typed. */
export type Line = { readonly words: readonly string[]; readonly typed: readonly Typed[] };

/** The names of the flags that work alone or followed by true or false. */
export function booleansOf(flags: readonly Flag[]): ReadonlySet<string> {
  return new Set(
    flags.filter(({ kind }) => kind === 'boolean').flatMap(({ name, key }) => [name, key]),
  );
}

export function readLine(argv: readonly string[], booleans: ReadonlySet<string>): Line {
  const isBoolean = (name: string): boolean =>
    booleans.has(name) || booleans.has(name.replace(/^no-/, ''));
  const names = argv.flatMap((word) => /^--([^=]+)/.exec(word)?.[1] ?? []);
  const options = Object.fromEntries(
    names.map((name) => [
      name,
      { type: isBoolean(name) ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  const words: string[] = [];
  const typed: { name: string; value: string | undefined; index: number }[] = [];
  // Not strict: faults are reported in our own words.
  for (const token of parseArgs({ args: [...argv], options, strict: false, tokens: true }).tokens) {
    if (token.kind === 'positional') {
      const last = typed.at(-1);
      const isItsValue =
        last?.index === token.index - 1 && last.value === undefined && isBoolean(last.name);
      if (isItsValue && /^(true|false)$/.test(token.value)) last.value = token.value;
      else words.push(token.value);
    } else if (token.kind === 'option') {
      const { name, value, index, inlineValue } = token;
      const isHelp = argv[index] === '-h';
      if (!isHelp && !token.rawName.startsWith('--'))
        throw new UsageFault(`"${argv[index]}" is no flag; flags begin with --.`);
      // A value that begins with -- is more likely a forgotten one; with = it can be given all the
      // same. No flag begins with three: that is PEM.
      const isForgotten = !inlineValue && value !== undefined && /^--[^-]/.test(value);
      typed.push({ name: isHelp ? 'help' : name, value: isForgotten ? undefined : value, index });
      if (isForgotten && value === '--help') typed.push({ name: 'help', value: undefined, index });
    }
  }
  return { words, typed };
}

export function isTyped({ typed }: Line, name: string): boolean {
  return typed.some((one) => one.name === name);
}

/** The command that the first words name, and the words that are left for it. */
export function findCommand<Own extends Named>(
  commands: readonly Own[],
  words: readonly string[],
): { command: Own; rest: readonly string[] } {
  const named = commandNamed(commands, words);
  if (named) return named;
  const [noun = '', verb] = words;
  const nouns = [...new Set(commands.map((one) => one.words[0] ?? ''))];
  const verbsOf = (of: string | undefined) =>
    commands.filter((one) => one.words[0] === of).flatMap((one) => one.words[1] ?? []);
  const verbs = verbsOf(noun);
  if (verbs.length > 0) {
    if (verb === undefined) throw new UsageFault(`${noun} needs a verb: ${verbs.join(', ')}.`);
    const meant = nearest(verb, verbs);
    const hint = meant ? `Did you mean "${noun} ${meant}"?` : `There are: ${verbs.join(', ')}.`;
    throw new UsageFault(`There is no command "${noun} ${verb}". ${hint}`, `${noun} ${verb}`);
  }
  const meantNoun = nearest(noun, nouns);
  const meant =
    meantNoun &&
    [meantNoun, ...(verb === undefined ? [] : [nearest(verb, verbsOf(meantNoun)) ?? verb])].join(
      ' ',
    );
  const hint = meant
    ? `Did you mean "${meant}"?`
    : `There are: ${nouns.join(', ')}. --help says more.`;
  throw new UsageFault(
    `There is no command "${words.slice(0, 2).join(' ')}". ${hint}`,
    words.slice(0, 2).join(' '),
  );
}

/** The commands that a line asks for help on: one, those of a noun, or all; undefined for none. */
export function helpAskedFor<Own extends Named>(
  commands: readonly Own[],
  line: Line,
): readonly Own[] | undefined {
  const [first, second, third] = line.words;
  const isWord = first === 'help' || (second === 'help' && third === undefined);
  if (!isWord && !isTyped(line, 'help')) return undefined;
  const asked = isWord ? line.words.filter((word) => word !== 'help') : line.words;
  if (asked.length === 0) return commands;
  const ofNoun = commands.filter(({ words }) => words[0] === asked[0] && words.length > 1);
  return asked.length === 1 && ofNoun.length > 0 ? ofNoun : [findCommand(commands, asked).command];
}

/** A flag with its value; `inner` are the keys below it: `--config.timeout_ms 3000`. */
export type Given = {
  readonly flag: Flag;
  readonly inner: readonly string[];
  readonly value: unknown;
};

/** The values of all flags, by their kind. `readText` reads `@file`. */
export function valuesOf(
  command: Command,
  { typed }: Line,
  readText: (path: string) => string,
): readonly Given[] {
  const name = commandName(command);
  const named = (text: string) =>
    command.flags.find((one) => one.name === text || one.key === text);
  const seen = new Set<string>();
  return typed.map(({ name: said, value }) => {
    const [head = '', ...inner] = said.split('.');
    const positive = head.startsWith('no-') ? named(head.slice(3)) : undefined;
    const negated = named(head) === undefined && positive?.kind === 'boolean';
    const known = negated ? positive : named(head);
    if (!known || (inner.length > 0 && known.kind !== 'object')) {
      const meant = nearest(
        head,
        command.flags.map((one) => one.name),
      );
      throw new UsageFault(
        `${name} has no flag --${said}.${meant ? ` Did you mean --${meant}?` : ' --help lists them.'}`,
        `--${said}`,
      );
    }
    if (negated && value !== undefined) throw new UsageFault(`--${said} takes no value.`);
    if (known.kind !== 'boolean' && (value === undefined || (known.required && value === '')))
      throw new UsageFault(`--${said} needs a value.`);
    // One flag has several spellings: --no-enabled is --enabled, --interval_s is --interval-s.
    const meant = [known.key, ...inner].join('.');
    if (seen.has(meant) && known.kind !== 'list') throw new UsageFault(`--${said} is given twice.`);
    seen.add(meant);
    if (inner.includes('__proto__')) throw new UsageFault('A key cannot be called __proto__.');
    const text = value ?? String(!negated);
    return {
      flag: known,
      inner,
      value: inner.length > 0 ? looseValue(said, text) : typedValue(known, said, text, readText),
    };
  });
}

/** The text of `@file`; `@-` is what is piped in. */
export function readText(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new UsageFault(
      `@${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** @throws UsageFault when a flag that the command must have is missing from its input. */
export function checkRequired(command: Command, input: Readonly<Record<string, unknown>>): void {
  const missing = command.flags.filter(
    ({ required, key }) => required && !Object.hasOwn(input, key),
  );
  if (missing.length > 0)
    throw new UsageFault(
      `${commandName(command)} needs ${missing.map(({ name }) => `--${name}`).join(' and ')}.`,
    );
}

/**
 * One object of all values. Keys of an object are set in what is given whole, wherever it stands.
 */
export function inputOf(values: readonly Given[]): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const {
    flag: { key, kind },
    inner,
    value,
  } of values.toSorted((a, b) => a.inner.length - b.inner.length)) {
    const list = input[key];
    if (kind === 'list') input[key] = [...(Array.isArray(list) ? list : []), value];
    else setDeep(input, [key, ...inner], value);
  }
  return input;
}

/** Sets `a.b.c` in an object, and creates the missing objects. */
export function setDeep(
  target: Record<string, unknown>,
  [first = '', ...rest]: readonly string[],
  value: unknown,
): void {
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const inner = target[first];
  const next = isRecord(inner) ? inner : {};
  target[first] = next;
  setDeep(next, rest, value);
}

function typedValue(
  { kind, choices }: Flag,
  said: string,
  text: string,
  readText: (path: string) => string,
): unknown {
  if (kind === 'object' || kind === 'objects') {
    const whole = text.startsWith('@') ? readText(text.slice(1)) : text;
    if (kind === 'objects') return itemsIn(said, whole);
    const object = parsed(whole, `--${said}`);
    if (!isRecord(object)) throw new UsageFault(`--${said} must be a JSON object.`);
    return object;
  }
  if (kind === 'number') {
    if (!/^-?\d+(\.\d+)?$/.test(text))
      throw new UsageFault(`--${said} takes a number, not "${text}".`);
    return Number(text);
  }
  if (kind === 'boolean') {
    if (text !== 'true' && text !== 'false')
      throw new UsageFault(`--${said} takes true or false, not "${text}".`);
    return text === 'true';
  }
  if (choices.length > 0 && !choices.includes(text))
    throw new UsageFault(`--${said} takes ${choices.join(', ')}, not "${text}".`);
  return text;
}

/**
 * For keys below a free object: values that look like a number, true, false, null or JSON are
 * parsed; anything else is text.
 */
function looseValue(said: string, text: string): unknown {
  if (!/^(true|false|null|-?\d+(\.\d+)?|[[{"].*)$/s.test(text)) return text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  refuseLossy(text, `--${said}`);
  return value;
}

function parsed(text: string, place: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageFault(
      `${place} is not valid JSON (${error instanceof Error ? error.message : String(error)}).`,
    );
  }
  refuseLossy(text, place);
  return value;
}

/** @throws UsageFault for JSON with a number that would change when sent. */
function refuseLossy(text: string, place: string): void {
  const lossy = lossyNumberIn(text);
  if (lossy !== undefined)
    throw new UsageFault(
      `${place}: the number ${lossy.slice(0, 40)} is not kept exactly; write it as a text, in double quotes.`,
    );
}

/**
 * A JSON array, an object with `items` as lists return it, or one JSON object per line. @throws
 * UsageFault that names the line.
 */
export function itemsIn(said: string, text: string): readonly unknown[] {
  const trimmed = text.replace(/^\ufeff/, '').trim();
  if (trimmed === '')
    throw new UsageFault(
      `--${said}: there is nothing in it; enter a JSON array, or one JSON object a line.`,
    );
  const lines = trimmed.split(/\r?\n/);
  const isWhole = trimmed.startsWith('[') || lines[0] === '{' || lines.length === 1;
  const whole = isWhole ? parsed(trimmed, `--${said}`) : undefined;
  const inside = isRecord(whole) && Array.isArray(whole.items) ? whole.items : whole;
  const eachLine = () =>
    lines.flatMap((line, index) =>
      line.trim() === '' ? [] : [parsed(line, `--${said}, line ${index + 1}`)],
    );
  const items: readonly unknown[] = Array.isArray(inside) ? inside : isWhole ? [whole] : eachLine();
  const odd = items.findIndex((item) => !isRecord(item));
  if (odd >= 0) throw new UsageFault(`--${said}: item ${odd + 1} is no JSON object.`);
  return items;
}
