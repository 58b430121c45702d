import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { UsageFault } from '../base/env.ts';
import { version } from '../base/process.ts';
import {
  booleansOf,
  findCommand,
  helpAskedFor,
  isTyped,
  type Line,
  readLine,
  readText,
} from './arguments.ts';
import { everywhere } from './calls.ts';
import { checkCommand, runCheck } from './check.ts';
import { commands, commandsOfDocument, usageOf } from './commands.ts';
import { discoverCommand, discoverHelp } from './discover/command.ts';
import { fileCommands } from './files/run.ts';
import {
  checkHelp,
  commandHelp,
  completion,
  configHelp,
  fileHelp,
  flagLines,
  generalHelp,
} from './help.ts';
import {
  CallRefused,
  type CommandContext,
  type Exit,
  exits,
  ServiceNotReached,
  useProxies,
} from './http.ts';
import { NoSuchName } from './ids.ts';
import { login, loginHelp } from './login.ts';
import { perform } from './perform.ts';
import { runHelp, runJob } from './run-job.ts';
import { readSettings, type Settings, SettingsFault } from './settings.ts';
import { painter, printable } from './terminal.ts';

/** Statuses of calls that may well succeed later. */
const later: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const booleans = booleansOf(
  [...commands, checkCommand, discoverCommand, ...fileCommands]
    .flatMap(({ flags }) => flags)
    .concat(everywhere),
);

/**
 * One command, one call (and a read before it, when single keys are changed or a name replaces an
 * id). Nothing is written to standard output unless the call succeeds; the token goes only into the
 * header.
 */
export async function runCli(world: CommandContext): Promise<number> {
  try {
    // Everything after `run` belongs to another program, including flags.
    if (world.given[0] === 'run') return await runJob(world.given.slice(1), world);
    return await dispatch(readLine(world.given, booleans), world);
  } catch (error) {
    if (error instanceof UsageFault) return printUsage(error, world);
    if (error instanceof SettingsFault) {
      world.err(`antipode: ${error.message}\n`);
      return error.lacks === 'url' ? exits.usage : exits.token;
    }
    if (error instanceof NoSuchName) {
      world.err(`antipode: ${printable(error.message)}\n`);
      return exits.refused;
    }
    if (error instanceof ServiceNotReached) {
      world.err(`antipode: ${printable(error.message)}\n`);
      return exits.notReached;
    }
    if (error instanceof CallRefused) {
      world.err(`antipode: ${faultText(error)}\n`);
      if (error.status === 401) return exits.token;
      return later.has(error.status) ? exits.later : exits.refused;
    }
    throw error;
  }
}

async function dispatch(line: Line, world: CommandContext): Promise<Exit> {
  const { words, typed } = line;
  const [first, second, third] = words;
  const says = (text: string): Exit => {
    world.out(text);
    return exits.done;
  };
  const isPlain =
    isTyped(line, 'no-color') || isTyped(line, 'no-colour') || Boolean(world.environment.NO_COLOR);
  const paint = painter(!isPlain && world.columns !== undefined);
  if (isTyped(line, 'version')) return says(`antipode ${version}\n`);
  if (first === 'completion' && !isTyped(line, 'help'))
    return says(completion(second, words.slice(2)));
  const isHelp = first === 'help' || isTyped(line, 'help');
  const own = isHelp ? helpOfOwn(words.find((word) => word !== 'help')) : undefined;
  if (own !== undefined) return says(own);
  if (first === 'login') return login(words.slice(1), world);
  if (first === 'check') return runCheck(words.slice(1), line, world, paint);
  if (first === 'discover' && !isHelp) {
    const { discover } = await import('./discover/kubernetes.ts');
    return discover(line, world);
  }
  const ofFiles = fileCommands.find((command) => command.words[0] === first);
  if (ofFiles && !isHelp) return ofFiles.run(line, world, paint);
  if (first === 'help' && second === 'config') return says(configHelp(third, paint));
  if (words.length === 0 && !isHelp) {
    const [early] = typed.filter(
      ({ name }) => !everywhere.some((one) => one.name === name && one.kind === 'boolean'),
    );
    if (early)
      throw new UsageFault(
        `--${early.name} stands without a command; flags come after it, as in antipode monitors list --limit 5.`,
      );
    world.err(generalHelp(paint));
    return exits.usage;
  }
  const helped = helpAskedFor(commands, line);
  if (helped === commands) return says(generalHelp(paint));
  const [one, ...others] = helped ?? [];
  if (one && others.length === 0) return says(commandHelp(one, paint));
  if (helped)
    return says(
      helped.map((command) => `${usageOf(command)}\n    ${command.operation.summary}\n`).join(''),
    );
  const { command, rest } = findCommand(commands, words);
  return perform(command, rest, line, world, paint);
}

/** Commands that are more than one call of the API. */
function helpOfOwn(word: string | undefined): string | undefined {
  if (word === 'check') return checkHelp();
  if (word === 'login') return loginHelp;
  if (word === 'discover') return discoverHelp(flagLines(discoverCommand.flags));
  const ofFiles = fileCommands.find(({ words }) => words[0] === word);
  if (ofFiles) return fileHelp(ofFiles);
  return word === 'run' ? runHelp : undefined;
}

async function printUsage(fault: UsageFault, world: CommandContext): Promise<Exit> {
  world.err(`antipode: ${printable(fault.message)}\n`);
  if (fault.unknown !== undefined && !fault.unknown.startsWith('--')) {
    let settings: Settings | undefined;
    try {
      settings = readSettings(world.environment, world.settingsFiles);
    } catch {
      settings = undefined;
    }
    const hint = settings && (await lacks(fault.unknown, settings));
    if (hint) world.err(`${printable(hint)}\n`);
  }
  return exits.usage;
}

const hintWithinMs = 2000;

/**
 * A newer service may know a word that this client does not. The timer keeps the process alive, and
 * with it the answer: on Node 20 neither the signal of a fetch nor a body that is still to come
 * does, and the process would end in the middle with 13.
 */
async function lacks(unknown: string, settings: Settings): Promise<string | undefined> {
  const giveUp = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      giveUp.abort();
      resolve(undefined);
    }, hintWithinMs);
  });
  try {
    return await Promise.race([hintOf(unknown, settings, giveUp.signal), late]);
  } catch {
    // This is only for a hint; the usage fault itself has been reported.
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

async function hintOf(
  unknown: string,
  settings: Settings,
  signal: AbortSignal,
): Promise<string | undefined> {
  const response = await fetch(`${settings.url}/api/v1/openapi.json`, {
    signal,
    redirect: 'error',
  });
  const known = commandsOfDocument(await response.json());
  return known.includes(unknown)
    ? `The service knows "${unknown}", this client (${version}) does not: get the newer one from ${settings.url}/downloads/antipode.mjs`
    : undefined;
}

function faultText(error: CallRefused): string {
  if (error.faults.length === 0) return `${printable(error.message)} (${printable(error.code)})`;
  const lines = error.faults.map(
    ({ loc, msg }) => `  ${printable(loc.slice(1).join('.') || loc.join('.'))}: ${printable(msg)}`,
  );
  return `the service does not accept what was sent (${error.code})\n${lines.join('\n')}`;
}

/** That of this process. A reader that closes early (`| head`) ends the command silently. */
export function processContext(settingsFiles: readonly string[] = []): CommandContext {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    // The call has been made and only its answer is lost. A user whose disk is full must know.
    process.stderr.write(`antipode: the answer cannot be written (${error.message})\n`);
    process.exit(1);
  });
  return {
    given: process.argv.slice(2),
    environment: process.env,
    settingsFiles,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    columns: process.stdout.isTTY ? (process.stdout.columns ?? 80) : undefined,
    attended: Boolean(process.stdin.isTTY && process.stderr.isTTY),
    ask,
    readText,
    now: () => Date.now(),
    reach: (url) => useProxies(url, process.env),
  };
}

/** Undefined when the user leaves by ^C or ^D. */
function ask(question: string, secret?: 'secret'): Promise<string | undefined> {
  return new Promise((resolve) => {
    process.stderr.write(question);
    const output = secret ? nowhere() : process.stderr;
    const lines = createInterface({ input: process.stdin, output, terminal: true, prompt: '' });
    let answer: string | undefined;
    lines.once('line', (line) => {
      answer = line;
      lines.close();
    });
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => {
      if (secret && answer !== undefined) process.stderr.write('\n');
      resolve(answer);
    });
  });
}

/** Readline echoes what is typed, including secrets, to its output: this one discards it. */
function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}
