import { parseArgs } from 'node:util';
import { isKind, unknownConfigKeys } from '../../shared/api/config-keys.ts';
import { InvalidInput } from '../../shared/api/operation.ts';
import { commandName, commandNamed, UsageFault } from '../../shared/base/env.ts';
import { codeOf, Refusal } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import { nearest } from '../../shared/base/text.ts';
import type { Given, LoneCommand, OperatorCommand, OperatorDependencies, OperatorFlag, Progress } from './command.ts';
import { commands } from './commands.ts';

/** Flags that every command takes. */
const everywhere: Readonly<Record<string, OperatorFlag>> = {
  json: { what: 'print one JSON object', alone: true },
  help: { what: 'say what the command takes', alone: true },
};

const hint = (word: string, known: readonly string[], sort: string): string => {
  const meant = nearest(word, known);
  return meant === undefined ? `There are: ${known.join(', ')}.` : `Did you mean ${sort}${meant}?`;
};

/**
 * The command that the first words name, and the rest of the line. @throws UsageFault that says
 * what is valid.
 */
export const findCommand = (
  commands: readonly OperatorCommand[],
  argv: readonly string[],
): { command: OperatorCommand; rest: readonly string[] } => {
  const named = commandNamed(commands, argv);
  if (named) return named;
  const [noun = '', verb] = argv;
  const verbs = commands.flatMap(({ words: [first, second] }) => (first === noun && second !== undefined ? [second] : []));
  if (verbs.length > 0 && (verb === undefined || verb.startsWith('--')))
    throw new UsageFault(`"${noun}" needs a verb: ${verbs.join(', ')}.`);
  if (verbs.length > 0) throw new UsageFault(`There is no "${noun} ${verb}". ${hint(verb ?? '', verbs, `${noun} `)}`);
  throw new UsageFault(`There is no command "${noun}". ${hint(noun, [...new Set(commands.map(({ words: [first = ''] }) => first))], '')}`);
};

/**
 * The values of the flags. @throws UsageFault for one that is unknown, repeated, lacks its value or
 * is missing.
 */
export const readFlags = (command: OperatorCommand, rest: readonly string[]): Given => {
  const known = { ...command.flags, ...everywhere };
  const options = Object.fromEntries(
    Object.entries(known).map(([name, { alone }]) => [
      name,
      { type: alone ? ('boolean' as const) : ('string' as const), ...(name === 'help' ? { short: 'h' } : {}) },
    ]),
  );
  const values = new Map<string, string>();
  // Not strict: faults are reported in our own words.
  for (const token of parseArgs({ args: [...rest], options, strict: false, tokens: true }).tokens) {
    if (token.kind !== 'option' || (!token.rawName.startsWith('--') && !Object.hasOwn(known, token.name)))
      throw new UsageFault(`"${rest[token.index] ?? ''}" is no flag; flags begin with --. ${usage(command)}`);
    const { name, value, inlineValue } = token;
    const flag = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!flag) throw new UsageFault(`"${commandName(command)}" has no flag --${name}. ${hint(name, Object.keys(known), '--')}`);
    if (values.has(name)) throw new UsageFault(`--${name} stands twice; give it once.`);
    if (flag.alone && value !== undefined) throw new UsageFault(`--${name} takes no value.`);
    // A value that begins with -- is more likely a forgotten one; with = it can be given all the
    // same.
    const isForgotten = value === undefined || (!inlineValue && value.startsWith('--')) || (flag.required && value === '');
    if (!flag.alone && isForgotten) throw new UsageFault(`--${name} needs a value: ${flag.what}.`);
    values.set(name, value ?? 'true');
  }
  const missing = Object.entries(command.flags).filter(([name, { required }]) => required && !values.has(name));
  if (missing.length > 0 && !values.has('help'))
    throw new UsageFault(`"${commandName(command)}" needs ${missing.map(([name, { what }]) => `--${name} (${what})`).join(', ')}.`);
  return { get: (name) => values.get(name), has: (name) => values.has(name) };
};

/** One line: the command with its flags, optional ones in brackets. */
const usage = (command: OperatorCommand): string => {
  const flags = Object.entries(command.flags).map(([name, { alone, required }]) => {
    const text = alone ? `--${name}` : `--${name} …`;
    return required ? text : `[${text}]`;
  });
  return `npm run operator -- ${[commandName(command), ...flags, '[--json]'].join(' ')}`;
};

export const helpOf = (command: OperatorCommand): string => {
  const lines = Object.entries({ ...command.flags, ...everywhere }).map(([name, { what }]) => `  --${name.padEnd(16)} ${what}`);
  return [command.what, '', usage(command), '', ...lines].join('\n');
};

export const helpOfAll = (commands: readonly OperatorCommand[]): string => {
  const width = Math.max(...commands.map((command) => commandName(command).length));
  const lines = commands.map((command) => `  ${commandName(command).padEnd(width)}  ${command.what}`);
  return ["The operator's commands (each takes --help and --json):", '', ...lines].join('\n');
};

/**
 * Output for people: a line for each member of an object, lists of objects as blocks; long texts
 * and secrets unchanged.
 */

/**
 * Characters that a terminal would execute instead of showing them: texts come from tenants, and
 * from anyone who pings a heartbeat.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const operatorCommands = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

export const shown = (text: string): string =>
  text.replaceAll(operatorCommands, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`);

const plain = (value: unknown): string => {
  if (typeof value === 'string') return shown(value);
  return Array.isArray(value) && value.length === 0 ? 'none' : JSON.stringify(value);
};

const lines = (record: Readonly<Record<string, unknown>>, indent: string): string[] => {
  const width = Math.max(0, ...Object.keys(record).map((key) => key.length));
  return Object.entries(record).flatMap(([key, value]) => {
    if (Array.isArray(value) && value.some(isRecord))
      return [
        `${indent}${key}`,
        ...value.flatMap((item) => ['', ...(isRecord(item) ? lines(item, `${indent}  `) : [`${indent}  ${plain(item)}`])]),
      ];
    const text = plain(value);
    // Unindented, for copying; within a list, it must not look like more of the list.
    const inside = indent === '' ? text : text.replaceAll(/^/gm, `${indent}    `);
    return text.includes('\n') ? [`${indent}${key}`, inside] : [`${indent}${key.padEnd(width)}  ${text}`];
  });
};

export const asText = (result: unknown): string => (isRecord(result) ? lines(result, '').join('\n') : plain(result));

/** Warnings about a monitor that a command returned: keys of its config without effect. */
export const configWarnings = (result: unknown): readonly string[] =>
  isRecord(result) && isKind(result.type) && isRecord(result.config)
    ? unknownConfigKeys(result.type, result.config).map(({ sentence }) => sentence)
    : [];

export type { OperatorDependencies } from './command.ts';

export type Streams = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether the output is a terminal, so that progress is worth showing. */
  readonly watched: boolean;
};

/** A parsed command; with `alone` it needs no installation. */
export type Understood<Kind extends OperatorCommand = OperatorCommand> = { readonly command: Kind; readonly given: Given };

/** Whether it runs on any machine, without an environment. */
export const isAlone = (understood: Understood): understood is Understood<LoneCommand> => 'alone' in understood.command;

const done = 0;
const failed = 1;
const misused = 2;

const isHelp = (word: string | undefined): boolean => word === 'help' || word === '--help' || word === '-h';

/**
 * Parses the line alone: help and usage faults are answered without a database. Returns the exit
 * code, or the command to run.
 */
export const understand = (argv: readonly string[], { out, err }: Streams): number | Understood => {
  const [first, second] = argv;
  if (argv.length === 0 || isHelp(first)) {
    const asked = commands.filter(({ words }) => words[0] === second);
    out(`${helpOfAll(asked.length > 0 ? asked : commands)}\n`);
    return argv.length === 0 ? misused : done;
  }
  const ofNoun = commands.filter(({ words }) => words[0] === first && words.length > 1);
  if (ofNoun.length > 0 && argv.length === 2 && isHelp(second)) {
    out(`${helpOfAll(ofNoun)}\n`);
    return done;
  }
  try {
    const { command, rest } = findCommand(commands, argv);
    const given = readFlags(command, rest);
    if (!given.has('help')) return { command, given };
    out(`${helpOf(command)}\n`);
    return done;
  } catch (error) {
    if (!(error instanceof UsageFault)) throw error;
    err(`${error.message}\n`);
    return misused;
  }
};

/** Where each member of an input comes from, in the words of the command line. */
const faultsOf = (command: OperatorCommand, { faults }: InvalidInput): string =>
  faults
    .map(({ loc, msg }) => {
      const key = String(loc.at(-1) ?? '').replaceAll('_', '-');
      // An id follows the name of its object, or --id where it is the only object.
      const flag = [key, key.replace(/-id$/, ''), 'id'].find((name) => Object.hasOwn(command.flags, name));
      return `${flag === undefined ? key : `--${flag}`}: ${msg}`;
    })
    .join('\n');

/** A file or a host that is unreachable: a stack would explain nothing. */
const isOfSystem = (error: Error): boolean => 'syscall' in error || codeOf(error) === 'CONNECT_TIMEOUT';

/** What backups refuse, in words. */
const ownFaults: readonly string[] = ['NoBackup', 'NoRoom'];

/** Prints the result in the requested form. */
const print = (result: unknown, given: Given, { out, err }: Streams, text = asText): void => {
  out(`${given.has('json') ? JSON.stringify(result) : text(result)}\n`);
  for (const warning of configWarnings(result)) err(`${shown(warning)}\n`);
};

/** Returns the exit code. Errors of our own are thrown. */
const ended = async (command: OperatorCommand, streams: Streams, work: () => Promise<void>): Promise<number> => {
  const { err } = streams;
  try {
    await work();
    return done;
  } catch (error) {
    if (error instanceof UsageFault || error instanceof InvalidInput) {
      err(`${error instanceof InvalidInput ? faultsOf(command, error) : error.message}\n`);
      return misused;
    }
    if (error instanceof Refusal) err(`${error.message} (${error.code})\n`);
    else if (error instanceof Error && (ownFaults.includes(error.name) || isOfSystem(error)))
      err(`${commandName(command)}: ${error.message}\n`);
    else throw error;
    return failed;
  }
};

/** Runs a command that needs no installation. */
export const runAlone = ({ command, given }: Understood<LoneCommand>, streams: Streams): Promise<number> =>
  ended(command, streams, async () => {
    const { result, text } = await command.alone(given);
    print(result, given, streams, text);
  });

/** Runs a parsed command. Returns its exit code. */
export const runUnderstood = async ({ command, given }: Understood, parts: OperatorDependencies, streams: Streams): Promise<number> => {
  if ('alone' in command) return runAlone({ command, given }, streams);
  const progress: Progress = (table, rows) => {
    if (streams.watched && !given.has('json')) streams.err(`  ${table}: ${rows} rows\n`);
  };
  return ended(command, streams, async () => {
    if (command.onToday) await parts.migrate();
    print(await command.run(parts, given, progress), given, streams);
  });
};
