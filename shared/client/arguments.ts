import { commandName, commandNamed, UsageFault } from '../base/env.ts';
import { isRecord, lossyNumberIn, memberOf } from '../base/json.ts';
import { nearest } from '../base/text.ts';
import type { Command, Flag } from './commands.ts';
import type { Call } from './http.ts';

/**
 * Bulk commands: items read from a file or a pipe, sent in parts of the service's size, and
 * reported as one.
 */

/** The service's limit for one call. */
export const maxInCall = 500;

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

/**
 * A JSON array, an object with `items` as lists return it, or one JSON object per line. @throws
 * UsageFault that names the line.
 */
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

/**
 * Bodies within the service's limit, to send in sequence. "All or none" can only be promised within
 * one call.
 */
export const partsOf = (body: unknown): readonly unknown[] => {
  const items = memberOf(body, 'items');
  if (!isRecord(body) || !Array.isArray(items) || items.length <= maxInCall) return [body];
  if (body.mode !== 'each')
    throw new UsageFault(
      `${items.length.toLocaleString('en')} at once are more than ${maxInCall}, and so cannot be made all or none: say --mode each, or send fewer.`,
    );
  const parts: unknown[] = [];
  for (let from = 0; from < items.length; from += maxInCall) parts.push({ ...body, items: items.slice(from, from + maxInCall) });
  return parts;
};

const numberOf = (body: unknown, key: string): number => {
  const value = memberOf(body, key);
  return typeof value === 'number' ? value : 0;
};

const counts = ['created', 'changed', 'refused'] as const;

/** Merges the answers to all parts into one. */
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

/** The summary below the lines of the items. */
export const summaryOf = (body: unknown): string => {
  const told = counts.map((key) => `${numberOf(body, key).toLocaleString('en')} ${key}`).join(', ');
  return memberOf(body, 'applied') === false
    ? `Nothing was done, because one was refused: ${told}. With --mode each the others are done.\n`
    : `${told}.\n`;
};

export const hasRefused = (body: unknown): boolean => numberOf(body, 'refused') > 0;

/** Flags of the program itself, the same for every command. */
export type Switches = { json: boolean; all: boolean; yes: boolean; help: boolean; version: boolean; colour: boolean };

const switchNames = {
  json: 'json',
  all: 'all',
  yes: 'yes',
  help: 'help',
  version: 'version',
  'no-color': 'colour',
  'no-colour': 'colour',
} as const;
const isSwitch = (name: string): name is keyof typeof switchNames => Object.hasOwn(switchNames, name);

/** The command line, sorted: words, flags with their values in order, and switches. */
export type Line = {
  readonly words: readonly string[];
  readonly flags: readonly { readonly name: string; readonly value: string | undefined }[];
  readonly switches: Switches;
  /** Which fields of an answer to print, from --fields. */
  readonly fields?: string | undefined;
  /** A duration, from --for. */
  readonly lasting?: string | undefined;
};

/** Flags of the program that take a value. */
const valueSwitches = ['fields', 'for'] as const;

const isFlag = (text: string): boolean => text.startsWith('--') && text.length > 2;

/** `booleans` are the flags that work alone or followed by true or false. */
export const readLine = (given: readonly string[], booleans: ReadonlySet<string>): Line => {
  const words: string[] = [];
  const flags: { name: string; value: string | undefined }[] = [];
  const switches: Switches = { json: false, all: false, yes: false, help: false, version: false, colour: true };
  for (let index = 0; index < given.length; index += 1) {
    const word = given[index] ?? '';
    if (word === '-h') switches.help = true;
    else if (word === '--') {
      words.push(...given.slice(index + 1));
      break;
    } else if (!isFlag(word)) words.push(word);
    else {
      const [, name = '', value] = /^--([^=]+)(?:=([\s\S]*))?$/.exec(word) ?? [];
      if (isSwitch(name) && value === undefined) switches[switchNames[name]] = !name.startsWith('no-');
      else if (value !== undefined) flags.push({ name, value });
      else {
        // A following word that is no flag is the value; negative numbers do not occur in this API.
        const next = given[index + 1];
        const taken = next !== undefined && !isFlag(next) && (!booleans.has(name) || next === 'true' || next === 'false');
        flags.push({ name, value: taken ? next : undefined });
        if (taken) index += 1;
      }
    }
  }
  const valueAfter = (wanted: (typeof valueSwitches)[number]): string | undefined => {
    const given = flags.filter(({ name }) => name === wanted);
    if (given.length > 1) throw new UsageFault(`--${wanted} is given twice.`);
    if (given[0] && !given[0].value) throw new UsageFault(`--${wanted} needs a value.`);
    return given[0]?.value;
  };
  const own: readonly string[] = valueSwitches;
  const rest = flags.filter(({ name }) => !own.includes(name));
  return { words, flags: rest, switches, fields: valueAfter('fields'), lasting: valueAfter('for') };
};

/** The command that the first words name, and the words that are left for it. */
export const findCommand = (commands: readonly Command[], words: readonly string[]): { command: Command; rest: readonly string[] } => {
  const named = commandNamed(commands, words);
  if (named) return named;
  const [noun = '', verb] = words;
  const nouns = [...new Set(commands.map((one) => one.words[0] ?? ''))];
  const verbs = commands.filter((one) => one.words[0] === noun && one.words.length === 2).map((one) => one.words[1] ?? '');
  if (verbs.length > 0) {
    if (verb === undefined) throw new UsageFault(`${noun} needs a verb: ${verbs.join(', ')}.`);
    const meant = nearest(verb, verbs);
    const hint = meant ? `Did you mean "${noun} ${meant}"?` : `There are: ${verbs.join(', ')}.`;
    throw new UsageFault(`There is no command "${noun} ${verb}". ${hint}`, `${noun} ${verb}`);
  }
  const meantNoun = nearest(noun, nouns);
  const verbsThere = commands.filter((one) => one.words[0] === meantNoun && one.words.length === 2).map((one) => one.words[1] ?? '');
  const meant = meantNoun && [meantNoun, ...(verb === undefined ? [] : [nearest(verb, verbsThere) ?? verb])].join(' ');
  const hint = meant ? `Did you mean "${meant}"?` : `There are: ${nouns.join(', ')}. See antipode --help.`;
  throw new UsageFault(`There is no command "${words.slice(0, 2).join(' ')}". ${hint}`, words.slice(0, 2).join(' '));
};

/** @throws UsageFault for JSON with a number that would change when sent. */
const refuseLossy = (flag: string, text: string): void => {
  const lossy = lossyNumberIn(text);
  if (lossy !== undefined)
    throw new UsageFault(`--${flag}: the number ${lossy.slice(0, 40)} is not kept exactly; write it as a text, in double quotes.`);
};

const parseJson = (flag: string, text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text);
    refuseLossy(flag, text);
    return value;
  } catch (error) {
    if (error instanceof UsageFault) throw error;
    throw new UsageFault(`--${flag} is not valid JSON (${error instanceof Error ? error.message : String(error)}).`);
  }
};

/**
 * For keys below a free object: values that look like a number, true, false, null or JSON are
 * parsed; anything else is text.
 */
const looseValue = (flag: string, text: string): unknown => {
  if (/^(true|false|null|-?\d+(\.\d+)?|[[{"].*)$/s.test(text)) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return text;
    }
    refuseLossy(flag, text);
    return value;
  }
  return text;
};

const typedValue = (flag: Flag, text: string): unknown => {
  if (flag.kind === 'integer' || flag.kind === 'number') {
    if (!/^-?\d+(\.\d+)?$/.test(text)) throw new UsageFault(`--${flag.name} takes a number, not "${text}".`);
    return Number(text);
  }
  if (flag.kind === 'boolean') {
    if (text !== 'true' && text !== 'false') throw new UsageFault(`--${flag.name} takes true or false, not "${text}".`);
    return text === 'true';
  }
  if (flag.choices.length > 0 && !flag.choices.includes(text)) {
    throw new UsageFault(`--${flag.name} takes ${flag.choices.join(', ')}, not "${text}".`);
  }
  return text;
};

/** `--config.timeout_ms 3000`: one value below an object, by the path of its keys. */
export type Amendment = { readonly path: readonly string[]; readonly value: unknown };

/** Sets `a.b.c` in an object of its own, and creates the missing objects. */
const setDeep = (target: Record<string, unknown>, path: readonly string[], value: unknown): void => {
  const [first = '', ...rest] = path;
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const inner = target[first];
  const next = isRecord(inner) ? inner : {};
  target[first] = next;
  setDeep(next, rest, value);
};

export type CommandCall = Call & {
  /**
   * Values to set in objects that are not given whole: the objects must be read first, or their
   * other keys would be lost.
   */
  readonly amendments?: readonly Amendment[];
};

/**
 * The call with its amendments applied to `now`, the present state. A secret comes back as `***`
 * and is sent back as that, which leaves it unchanged.
 */
export const amendedCall = ({ amendments = [], ...call }: CommandCall, now: unknown): Call => {
  const body: Record<string, unknown> = { ...(isRecord(call.body) && call.body) };
  for (const { path, value } of amendments) {
    const [key = ''] = path;
    if (!Object.hasOwn(body, key)) body[key] = structuredClone(memberOf(now, key));
    setDeep(body, path, value);
  }
  return { ...call, body };
};

/** Converts words and flags of a command to its call. `readText` reads `@file`. */
export const callOf = (command: Command, rest: readonly string[], line: Line, readText: (path: string) => string): CommandCall => {
  const name = commandName(command);
  const { positionals } = command;
  if (rest.length < positionals.length) {
    throw new UsageFault(
      `${name} needs ${positionals
        .slice(rest.length)
        .map(({ shown }) => shown)
        .join(' and ')}.`,
    );
  }
  if (rest.length > positionals.length) throw new UsageFault(`${name} does not take "${rest[positionals.length]}".`);
  let path = command.operation.path;
  for (const [index, { name: param, shown }] of positionals.entries()) {
    const id = rest[index] ?? '';
    // Dots would climb out of the path and make it another call, possibly one that deletes.
    if (/^\.{0,2}$/.test(id)) throw new UsageFault(`${name} needs ${shown}; "${id}" is none.`);
    path = path.replace(`{${param}}`, () => encodeURIComponent(id));
  }

  const query: Record<string, string> = {};
  const body: Record<string, unknown> = {};
  const dotted: Amendment[] = [];
  const known = [...command.flags.map((flag) => flag.name), ...Object.keys(switchNames), ...valueSwitches];
  const given = new Set<string>();
  for (const { name: typed, value } of line.flags) {
    const [head = '', ...inner] = typed.split('.');
    const negated = head.startsWith('no-')
      ? command.flags.find((flag) => flag.kind === 'boolean' && `no-${flag.name}` === head)
      : undefined;
    const flag = negated ?? command.flags.find((one) => one.name === head || one.key === head);
    if (!flag || (inner.length > 0 && flag.kind !== 'object')) {
      const meant = nearest(head, known);
      throw new UsageFault(
        `${name} has no flag --${typed}.${meant ? ` Did you mean --${meant}?` : ` See antipode ${name} --help.`}`,
        `--${typed}`,
      );
    }
    if (value === undefined && flag.kind !== 'boolean') throw new UsageFault(`--${typed} needs a value.`);
    if (negated && value !== undefined) throw new UsageFault(`--${typed} takes no value.`);
    // One flag has several spellings: --no-enabled is --enabled, --interval_s is --interval-s.
    const meant = [flag.key, ...inner].join('.');
    if (given.has(meant) && flag.kind !== 'list') throw new UsageFault(`--${typed} is given twice.`);
    given.add(meant);
    const text = value ?? String(!negated);
    if (flag.where === 'query') query[flag.key] = String(typedValue(flag, text));
    else if (flag.kind === 'list') {
      const list = body[flag.key];
      body[flag.key] = [...(Array.isArray(list) ? list : []), text];
    } else if (flag.kind === 'objects') body[flag.key] = itemsIn(typed, text.startsWith('@') ? readText(text.slice(1)) : text);
    else if (flag.kind !== 'object') body[flag.key] = typedValue(flag, text);
    else if (inner.length > 0) {
      if (inner.includes('__proto__')) throw new UsageFault('A key cannot be called __proto__.');
      dotted.push({ path: [flag.key, ...inner], value: looseValue(typed, text) });
    } else {
      const object = parseJson(typed, text.startsWith('@') ? readText(text.slice(1)) : text);
      if (!isRecord(object)) throw new UsageFault(`--${typed} must be a JSON object.`);
      body[flag.key] = object;
    }
  }
  // When an object is given whole, or created, dotted flags set values in it. When an existing one
  // is changed, the rest of it stays.
  const amendments = command.operation.method === 'PATCH' ? dotted.filter(({ path: [key = ''] }) => !Object.hasOwn(body, key)) : [];
  for (const one of dotted) if (!amendments.includes(one)) setDeep(body, one.path, one.value);
  const missing = command.flags.filter((flag) => flag.required && !Object.hasOwn(flag.where === 'query' ? query : body, flag.key));
  if (missing.length > 0) throw new UsageFault(`${name} needs ${missing.map((flag) => `--${flag.name}`).join(' and ')}.`);
  const hasBody = command.flags.some((flag) => flag.where === 'body');
  return { method: command.operation.method, path, query, ...(hasBody && { body }), ...(amendments.length > 0 && { amendments }) };
};

const sizes: Readonly<Record<string, number>> = { s: 1000, min: 60_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const span = /^(\d{1,6})\s*(s|min|m|h|d|w)$/;

const lengthOf = (text: string): number | undefined => {
  const [, count = '', unit = ''] = span.exec(text) ?? [];
  const size = sizes[unit];
  return size === undefined ? undefined : Number(count) * size;
};

const instant = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** `now`, `+10m`, `-1h` as a time; anything else is sent unchanged. */
const momentOf = (text: string, now: number): string => {
  if (text === 'now') return instant(now);
  const length = /^[+-]/.test(text) ? lengthOf(text.slice(1)) : undefined;
  return length === undefined ? text : instant(text.startsWith('-') ? now - length : now + length);
};

const isTime = (key: string): boolean => /_at$|^(from|to|since|until)$/.test(key);

/**
 * A local time has no offset, and neither has the sum: the service reads both in the same time
 * zone.
 */
const later = (start: string, length: number): string => {
  const isLocal = !/(Z|[+-]\d\d:?\d\d)$/i.test(start);
  const at = Date.parse(isLocal ? `${start}Z` : start);
  if (Number.isNaN(at)) throw new UsageFault(`--for needs a start that is a time such as 2027-01-01T02:00, now or +10m, not "${start}".`);
  return isLocal ? instant(at + length).slice(0, -1) : instant(at + length);
};

/**
 * The line with its times in the service's form; `--for 10m` is the end of what begins at
 * --starts-at, or now.
 */
export const withTimes = (command: Command, line: Line, now: number): Line => {
  const timed = new Set(command.flags.filter(({ key, kind }) => kind === 'text' && isTime(key)).flatMap(({ key, name }) => [key, name]));
  const flags = line.flags.map((flag) =>
    flag.value !== undefined && timed.has(flag.name) ? { ...flag, value: momentOf(flag.value, now) } : flag,
  );
  const { lasting } = line;
  if (lasting === undefined) return { ...line, flags };
  const lasts = ['starts_at', 'ends_at'].every((key) => command.flags.some((flag) => flag.key === key));
  if (!lasts) throw new UsageFault(`${commandName(command)} has no beginning and end: --for has no meaning there.`);
  const length = lengthOf(lasting);
  if (length === undefined || length === 0) throw new UsageFault(`--for takes a length such as 10m, 2h or 1d, not "${lasting}".`);
  const has = (key: string) => flags.find(({ name }) => name.replaceAll('-', '_') === key);
  if (has('ends_at')) throw new UsageFault('--for and --ends-at both say when it ends: leave one out.');
  const given = has('starts_at');
  if (!given && command.operation.method === 'PATCH')
    throw new UsageFault('--for counts from --starts-at, which must be given when a window is changed.');
  const start = given?.value ?? instant(now);
  const begins = given ? [] : [{ name: 'starts-at', value: start }];
  return { ...line, flags: [...flags, ...begins, { name: 'ends-at', value: later(start, length) }] };
};
