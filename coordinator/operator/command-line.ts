import { InvalidInput } from '../../shared/api/operation.ts';
import { commandName, UsageFault } from '../../shared/base/env.ts';
import { codeOf, Refusal } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import {
  alone,
  booleansOf,
  checkRequired,
  findCommand,
  flag,
  helpAskedFor,
  inputOf,
  readLine,
  readText,
  valuesOf,
} from '../../shared/client/arguments.ts';
import { withPlaceholder } from '../../shared/client/commands.ts';
import { configWarnings, flagLines, inColumns } from '../../shared/client/help.ts';
import type {
  Input,
  OperatorCommand,
  OperatorDependencies,
  Progress,
  StandaloneCommand,
} from './command.ts';
import { commands } from './commands.ts';

export type { OperatorDependencies } from './command.ts';

export type Streams = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether the output is a terminal, so that progress is worth showing. */
  readonly watched: boolean;
};

/** A parsed command; with `alone` it needs no installation. */
type Understood<Kind extends OperatorCommand = OperatorCommand> = {
  readonly command: Kind;
  readonly input: Input;
};

/** Whether it runs on any machine, without an environment. */
export function isAlone(understood: Understood): understood is Understood<StandaloneCommand> {
  return 'alone' in understood.command;
}

/** Flags that every command takes. */
const everywhere = [
  flag('json', 'print one JSON object', alone),
  flag('help', 'say what the command takes', alone),
];

const booleans = booleansOf([...everywhere, ...commands.flatMap(({ flags }) => flags)]);

const done = 0;

const misused = 2;

/**
 * Parses the line alone: help and usage faults are answered without a database. Returns the exit
 * code, or the command to run.
 */
export function understand(argv: readonly string[], { out, err }: Streams): number | Understood {
  try {
    const line = readLine(argv, booleans);
    const helped = argv.length === 0 ? commands : helpAskedFor(commands, line);
    if (helped) {
      const [one, ...others] = helped;
      out(one && others.length === 0 ? helpOf(one) : helpOfAll(helped));
      return argv.length === 0 ? misused : done;
    }
    const { command, rest } = findCommand(commands, line.words);
    const all = { ...command, flags: [...command.flags, ...everywhere] };
    const input = inputOf(valuesOf(all, line, readText));
    if (rest.length > 0)
      throw new UsageFault(
        `${commandName(command)} does not take "${rest[0]}"; flags begin with --.`,
      );
    checkRequired(command, input);
    return { command, input };
  } catch (error) {
    if (!(error instanceof UsageFault)) throw error;
    err(`${error.message}\n`);
    return misused;
  }
}

function helpOf(command: OperatorCommand): string {
  const needed = command.flags.filter((one) => one.required).map(withPlaceholder);
  const usage = ['npm run operator --', commandName(command), ...needed, '[FLAGS]'].join(' ');
  return `${command.what}\n\n${usage}\n\n${flagLines([...command.flags, ...everywhere])}`;
}

function helpOfAll(listed: readonly OperatorCommand[]): string {
  return `The operator's commands (each takes --help and --json):\n\n${inColumns(listed.map((command) => [commandName(command), command.what]))}`;
}

/**
 * Characters that a terminal would execute instead of showing them: texts come from tenants, and
 * from anyone who pings a heartbeat.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const operatorCommands = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * Output for people: a line for each member of an object, lists of objects as blocks; long texts
 * and secrets unchanged.
 */
function shown(text: string): string {
  return text.replaceAll(
    operatorCommands,
    (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

export function asText(result: unknown): string {
  return isRecord(result) ? lines(result, '').join('\n') : plain(result);
}

function lines(record: Readonly<Record<string, unknown>>, indent: string): string[] {
  const width = Math.max(0, ...Object.keys(record).map((key) => key.length));
  return Object.entries(record).flatMap(([key, value]) => {
    if (Array.isArray(value) && value.some(isRecord))
      return [
        `${indent}${key}`,
        ...value.flatMap((item) => [
          '',
          ...(isRecord(item) ? lines(item, `${indent}  `) : [`${indent}  ${plain(item)}`]),
        ]),
      ];
    const text = plain(value);
    // Unindented, for copying; within a list, it must not look like more of the list.
    const inside = indent === '' ? text : text.replaceAll(/^/gm, `${indent}    `);
    return text.includes('\n')
      ? [`${indent}${key}`, inside]
      : [`${indent}${key.padEnd(width)}  ${text}`];
  });
}

function plain(value: unknown): string {
  if (typeof value === 'string') return shown(value);
  return Array.isArray(value) && value.length === 0 ? 'none' : JSON.stringify(value);
}

/** Runs a command that needs no installation. */
export function runAlone(
  { command, input }: Understood<StandaloneCommand>,
  streams: Streams,
): Promise<number> {
  return ended(command, streams, async () => {
    const { result, text } = await command.alone(input);
    print(result, input, streams, text);
  });
}

/** What backups refuse, in words. */
const ownFaults: readonly string[] = ['NoBackup', 'NotEnoughSpace'];

const failed = 1;

/** Returns the exit code. Errors of our own are thrown. */
async function ended(
  command: OperatorCommand,
  streams: Streams,
  work: () => Promise<void>,
): Promise<number> {
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
}

/** Each fault, after the flag that its value came from. */
function faultsOf({ flags }: OperatorCommand, { faults }: InvalidInput): string {
  return faults
    .map(({ loc, msg }) => {
      const key = String(loc.at(-1) ?? '');
      const name = flags.find((one) => one.key === key)?.name;
      return `${name === undefined ? key : `--${name}`}: ${msg}`;
    })
    .join('\n');
}

/** A file or a host that is unreachable: a stack would explain nothing. */
function isOfSystem(error: Error): boolean {
  return 'syscall' in error || codeOf(error) === 'CONNECT_TIMEOUT';
}

/** Prints the result in the requested form. */
function print(result: unknown, input: Input, { out, err }: Streams, text = asText): void {
  out(`${input.json === true ? JSON.stringify(result ?? {}) : text(result ?? 'Done.')}\n`);
  for (const warning of configWarnings(result, result)) err(`${shown(warning)}\n`);
}

/** Runs a parsed command. Returns its exit code. */
export async function runUnderstood(
  { command, input }: Understood,
  dependencies: OperatorDependencies,
  streams: Streams,
): Promise<number> {
  if ('alone' in command) return runAlone({ command, input }, streams);
  const progress: Progress = (table, rows) => {
    if (streams.watched && !input.json === true) streams.err(`  ${table}: ${rows} rows\n`);
  };
  return ended(command, streams, async () => {
    if (!command.onAnySchema) await dependencies.migrate();
    print(await command.run(dependencies, input, progress), input, streams);
  });
}
