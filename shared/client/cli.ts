import { nearest } from '../base/nearest.ts';
import { version } from '../base/version.ts';
import { amendedCall, callOf, findCommand, type Line, readLine, UsageFault } from './arguments.ts';
import { commands, commandsOfDocument } from './command-table.ts';
import { type Command, commandName, usageOf } from './commands.ts';
import { completion, isShell, shells } from './completion.ts';
import { configHelp, configWarnings } from './config-help.ts';
import { commandHelp, generalHelp } from './help.ts';
import { CallRefused, createHttpClient, ServiceNotReached } from './http-client.ts';
import { render } from './render.ts';
import { readSettings, type Settings, SettingsFault } from './settings.ts';
import { harmless, painter } from './terminal.ts';

/** What a command ends with; scripts branch on these. */
export const exits = { done: 0, refused: 1, usage: 2, token: 3, notReached: 4 } as const;
export type Exit = (typeof exits)[keyof typeof exits];

/** The world around a command, so that a test can stand in its place. */
export type Surroundings = {
  readonly given: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly settingsFiles?: readonly string[];
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** The width of the terminal that the output goes to; undefined when it is no terminal. */
  readonly columns: number | undefined;
  /** Whether somebody sees what is written to `err`, and can answer. */
  readonly attended: boolean;
  readonly ask: (question: string) => Promise<string>;
  readonly readText: (path: string) => string;
  readonly now: () => number;
  readonly wait?: (seconds: number) => Promise<void>;
};

const faultText = (error: CallRefused): string => {
  if (error.faults.length === 0) return `${harmless(error.message)} (${harmless(error.code)})`;
  const lines = error.faults.map(({ loc, msg }) => `  ${harmless(loc.slice(1).join('.') || loc.join('.'))}: ${harmless(msg)}`);
  return `the service does not accept what was sent (${error.code})\n${lines.join('\n')}`;
};

/** A word that this client does not know may be one that a newer service has learned since. */
const lacks = async (unknown: string, settings: Settings): Promise<string | undefined> => {
  try {
    const response = await fetch(`${settings.url}/api/v1/openapi.json`, { signal: AbortSignal.timeout(2000), redirect: 'error' });
    const known = commandsOfDocument(await response.json());
    return known.includes(unknown)
      ? `The service knows "${unknown}", this client (${version}) does not: get the newer one from ${settings.url}/downloads/antipode.mjs`
      : undefined;
  } catch {
    // Only a hint was wanted; the usage fault itself has been told.
    return undefined;
  }
};

const tellUsage = async (fault: UsageFault, world: Surroundings): Promise<Exit> => {
  world.err(`antipode: ${harmless(fault.message)}\n`);
  if (fault.unknown !== undefined && !fault.unknown.startsWith('--')) {
    let settings: Settings | undefined;
    try {
      settings = readSettings(world.environment, world.settingsFiles);
    } catch {
      settings = undefined;
    }
    const hint = settings && (await lacks(fault.unknown, settings));
    if (hint) world.err(`${harmless(hint)}\n`);
  }
  return exits.usage;
};

const perform = async (command: Command, rest: readonly string[], line: Line, world: Surroundings): Promise<Exit> => {
  const { switches } = line;
  const call = callOf(command, rest, line, world.readText);
  if (switches.all && !command.paged) throw new UsageFault(`${commandName(command)} is not a list: --all has no meaning there.`);
  if (switches.all && call.query?.cursor !== undefined) throw new UsageFault('--all walks from the first page: leave --cursor out.');
  const settings = readSettings(world.environment, world.settingsFiles);

  const isDeadly = command.operation.id === 'deleteMonitor';
  if (isDeadly && !switches.yes && !world.attended) {
    world.err('Nothing was deleted: a monitor goes with its whole history, and nobody can be asked here. Say it with --yes.\n');
    return exits.usage;
  }
  if (isDeadly && !switches.yes) {
    const answer = await world.ask(`Delete the monitor ${harmless(rest[0] ?? '')} with its whole history? This cannot be undone. [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) {
      world.err('Nothing was deleted.\n');
      return exits.usage;
    }
  }

  const client = createHttpClient({
    settings,
    userAgent: `antipode/${version}`,
    onWait: (seconds) => world.err(`antipode: over the rate of calls; going on in ${seconds} s, as told\n`),
    ...(world.wait && { wait: world.wait }),
  });
  const progress = world.attended && switches.all ? (count: number) => world.err(`\r${count} so far …`) : undefined;
  try {
    const complete = call.amendments ? amendedCall(call, (await client.call({ method: 'GET', path: call.path })).body) : call;
    const { body } = switches.all ? await client.callAllPages(call, progress) : await client.call(complete);
    if (progress) world.err('\r\u001b[K');
    const onTerminal = world.columns !== undefined && !switches.json;
    if (onTerminal) {
      const text = render(body, { columns: world.columns, paint: painter(inColour(world, line)), now: world.now() });
      world.out(text === '' ? 'Done.\n' : text);
    } else if (body !== null) world.out(`${JSON.stringify(body)}\n`);
    for (const warning of configWarnings(call.body, body))
      world.err(`antipode: ${harmless(warning)} (antipode help config lists what is)\n`);
    return exits.done;
  } catch (error) {
    if (progress) world.err('\r\u001b[K');
    throw error;
  }
};

const inColour = (world: Surroundings, line: Line): boolean =>
  line.switches.colour && world.columns !== undefined && !world.environment.NO_COLOR;

const dispatch = async (line: Line, world: Surroundings): Promise<Exit> => {
  const { words, switches } = line;
  const paint = painter(inColour(world, line));
  if (switches.version) {
    world.out(`antipode ${version}\n`);
    return exits.done;
  }
  if (words[0] === 'completion') {
    const shell = words[1];
    if (!isShell(shell)) {
      const meant = nearest(shell ?? '', shells);
      throw new UsageFault(`completion takes ${shells.join(', ')}.${meant ? ` Did you mean ${meant}?` : ''}`);
    }
    world.out(completion(shell, commands));
    return exits.done;
  }
  const [early] = line.flags;
  if (words.length === 0 && early && !switches.help) {
    const example = 'antipode monitors list --limit 5';
    throw new UsageFault(`--${early.name} stands without a command; flags come after it, as in ${example}.`);
  }
  if (words.length === 0 || words[0] === 'help') {
    if (words.length === 0 && !switches.help) {
      world.err(generalHelp(commands, paint));
      return exits.usage;
    }
    if (words.length <= 1) {
      world.out(generalHelp(commands, paint));
      return exits.done;
    }
    if (words[1] === 'config') {
      world.out(configHelp(words[2], paint));
      return exits.done;
    }
  }
  const asked = words[0] === 'help' ? words.slice(1) : words;
  const wantsHelp = switches.help || words[0] === 'help';
  const ofNoun = commands.filter((command) => command.words[0] === asked[0]);
  if (wantsHelp && asked.length === 1 && ofNoun.length > 1) {
    world.out(ofNoun.map((command) => `${usageOf(command)}\n    ${command.operation.summary}\n`).join(''));
    return exits.done;
  }
  const { command, rest } = findCommand(commands, asked);
  if (wantsHelp) {
    world.out(commandHelp(command, paint));
    return exits.done;
  }
  return perform(command, rest, line, world);
};

const booleans: ReadonlySet<string> = new Set(
  commands.flatMap(({ flags }) => flags.filter(({ kind }) => kind === 'boolean').flatMap(({ name, key }) => [name, key])),
);

/** One command, one call (and a reading before it, where single keys are changed). Nothing goes to standard output unless it is done; the token goes nowhere but into the header. */
export const runCli = async (world: Surroundings): Promise<Exit> => {
  try {
    return await dispatch(readLine(world.given, booleans), world);
  } catch (error) {
    if (error instanceof UsageFault) return tellUsage(error, world);
    if (error instanceof SettingsFault) {
      world.err(`antipode: ${error.message}\n`);
      return error.lacks === 'url' ? exits.usage : exits.token;
    }
    if (error instanceof ServiceNotReached) {
      world.err(`antipode: ${harmless(error.message)}\n`);
      return exits.notReached;
    }
    if (error instanceof CallRefused) {
      world.err(`antipode: ${faultText(error)}\n`);
      return error.status === 401 ? exits.token : exits.refused;
    }
    throw error;
  }
};
