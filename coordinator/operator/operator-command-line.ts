import { parseArgs } from 'node:util';
import { commandName, commandNamed, UsageFault } from '../../shared/base/env.ts';
import { nearest } from '../../shared/base/text.ts';
import type { Given, OperatorCommand, OperatorFlag } from './operator-command.ts';

/** Flags that every command takes. */
const everywhere: Readonly<Record<string, OperatorFlag>> = {
  json: { what: 'print one JSON object', alone: true },
  help: { what: 'say what the command takes', alone: true },
};

const hint = (word: string, known: readonly string[], sort: string): string => {
  const meant = nearest(word, known);
  return meant === undefined ? `There are: ${known.join(', ')}.` : `Did you mean ${sort}${meant}?`;
};

/** The command that the first words name, and what is left of the line. @throws UsageFault that says what would do. */
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

/** What the flags say. @throws UsageFault for one that is unknown, stands twice, lacks its value or is missing. */
export const readFlags = (command: OperatorCommand, rest: readonly string[]): Given => {
  const known = { ...command.flags, ...everywhere };
  const options = Object.fromEntries(
    Object.entries(known).map(([name, { alone }]) => [
      name,
      { type: alone ? ('boolean' as const) : ('string' as const), ...(name === 'help' ? { short: 'h' } : {}) },
    ]),
  );
  const values = new Map<string, string>();
  // Not strict: what is wrong is said in words of ours.
  for (const token of parseArgs({ args: [...rest], options, strict: false, tokens: true }).tokens) {
    if (token.kind !== 'option' || (!token.rawName.startsWith('--') && !Object.hasOwn(known, token.name)))
      throw new UsageFault(`"${rest[token.index] ?? ''}" is no flag; flags begin with --. ${usage(command)}`);
    const { name, value, inlineValue } = token;
    const flag = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!flag) throw new UsageFault(`"${commandName(command)}" has no flag --${name}. ${hint(name, Object.keys(known), '--')}`);
    if (values.has(name)) throw new UsageFault(`--${name} stands twice; give it once.`);
    if (flag.alone && value !== undefined) throw new UsageFault(`--${name} takes no value.`);
    // A value that itself begins with -- is more likely a forgotten one; with = it can be given all the same.
    const isForgotten = value === undefined || (!inlineValue && value.startsWith('--')) || (flag.required && value === '');
    if (!flag.alone && isForgotten) throw new UsageFault(`--${name} needs a value: ${flag.what}.`);
    values.set(name, value ?? 'true');
  }
  const missing = Object.entries(command.flags).filter(([name, { required }]) => required && !values.has(name));
  if (missing.length > 0 && !values.has('help'))
    throw new UsageFault(`"${commandName(command)}" needs ${missing.map(([name, { what }]) => `--${name} (${what})`).join(', ')}.`);
  return { get: (name) => values.get(name), has: (name) => values.has(name) };
};

/** One line: the command with its flags, those that may be left out in brackets. */
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
