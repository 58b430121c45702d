import { InvalidInput } from '../../shared/api/operation.ts';
import { commandName, UsageFault } from '../../shared/base/env.ts';
import { codeOf, Refusal } from '../../shared/base/errors.ts';
import type { Given, LoneCommand, OperatorCommand, OperatorParts, Progress } from './operator-command.ts';
import { findCommand, helpOf, helpOfAll, readFlags } from './operator-command-line.ts';
import { commands } from './operator-commands.ts';
import { asText, configWarnings, shown } from './operator-print.ts';

export type { OperatorParts } from './operator-command.ts';

export type Streams = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether somebody watches, so that progress is worth showing. */
  readonly watched: boolean;
};

/** A command that was understood; with `alone` it needs no house. */
export type Understood<Kind extends OperatorCommand = OperatorCommand> = { readonly command: Kind; readonly given: Given };

/** Whether it runs on any machine, without an environment. */
export const isAlone = (understood: Understood): understood is Understood<LoneCommand> => 'alone' in understood.command;

const done = 0;
const failed = 1;
const misused = 2;

const isHelp = (word: string | undefined): boolean => word === 'help' || word === '--help' || word === '-h';

/** Reads the line alone: help and faults of use are answered without a database. Gives the exit code, or what there is to run. */
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
      // An id stands behind the name of its thing, or behind --id where it is the one thing that is meant.
      const flag = [key, key.replace(/-id$/, ''), 'id'].find((name) => Object.hasOwn(command.flags, name));
      return `${flag === undefined ? key : `--${flag}`}: ${msg}`;
    })
    .join('\n');

/** A file or a host that cannot be reached: nothing that a stack would explain. */
const isOfSystem = (error: Error): boolean => 'syscall' in error || codeOf(error) === 'CONNECT_TIMEOUT';

/** What backups refuse, in words. */
const ownFaults: readonly string[] = ['NoBackup', 'NoRoom'];

/** What a command gave, in the form that was asked for. */
const print = (result: unknown, given: Given, { out, err }: Streams, text = asText): void => {
  out(`${given.has('json') ? JSON.stringify(result) : text(result)}\n`);
  for (const warning of configWarnings(result)) err(`${shown(warning)}\n`);
};

/** Its exit code. Faults that are nobody's but ours are thrown. */
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

/** Runs a command that needs no house. */
export const runAlone = ({ command, given }: Understood<LoneCommand>, streams: Streams): Promise<number> =>
  ended(command, streams, async () => {
    const { result, text } = await command.alone(given);
    print(result, given, streams, text);
  });

/** Runs a command that was understood; its exit code. */
export const runUnderstood = async ({ command, given }: Understood, parts: OperatorParts, streams: Streams): Promise<number> => {
  if ('alone' in command) return runAlone({ command, given }, streams);
  const progress: Progress = (table, rows) => {
    if (streams.watched && !given.has('json')) streams.err(`  ${table}: ${rows} rows\n`);
  };
  return ended(command, streams, async () => {
    if (command.onToday) await parts.migrate();
    print(await command.run(parts, given, progress), given, streams);
  });
};
