import { csvType } from '../api/csv.ts';
import { commandName, UsageFault } from '../base/env.ts';
import { isRecord, memberOf } from '../base/json.ts';
import { type Given, inputOf, type Line, valuesOf } from './arguments.ts';
import {
  amendedCall,
  type CommandCall,
  callOf,
  everywhere,
  hasRefused,
  partsOf,
  summaryOf,
  togetherOf,
  withTimes,
} from './calls.ts';
import { type Command, commands } from './commands.ts';
import { configWarnings } from './help.ts';
import {
  type ApiAnswer,
  type CommandContext,
  clientOf,
  type Exit,
  exits,
  type HttpClient,
  nextOf,
} from './http.ts';
import { withIds } from './ids.ts';
import { type Fields, fieldsOf, missingFields, render, withFields } from './output.ts';
import { type Paint, printable } from './terminal.ts';

const clearLine = '\r\u001b[K';

/** An irreversible command needs a confirmation. */
type Deadly = {
  readonly nameOf: (client: HttpClient, path: string) => Promise<string>;
  readonly question: (name: string) => string;
  /** The message when it was not done, and why it is refused where no one can be asked. */
  readonly left: string;
  readonly because: string;
};
const deadly: Readonly<Record<string, Deadly>> = {
  deleteMonitor: {
    nameOf: nameOfMonitor,
    question: (name) =>
      `Delete the monitor ${name} with its history? For 7 days it can be restored. [y/N] `,
    left: 'Nothing was deleted',
    because: 'a monitor goes with its history',
  },
  endProbe: {
    nameOf: idOfProbe,
    question: (name) =>
      `End the probe ${name} for good? Its host cannot come back as this probe. [y/N] `,
    left: 'Nothing was ended',
    because: 'the host of a probe cannot come back as it',
  },
};

/**
 * The name of the monitor to delete, as users know it. Reading it also reports early that it does
 * not exist.
 */
async function nameOfMonitor(client: HttpClient, path: string): Promise<string> {
  const { body } = await client.call({ method: 'GET', path });
  const [name, target] = [memberOf(body, 'name'), memberOf(body, 'target')];
  return `${printable(String(name))}${typeof target === 'string' && target !== name ? ` (${printable(target)})` : ''}`;
}

/** No call reads a probe: its id is what was typed. */
async function idOfProbe(_: HttpClient, path: string): Promise<string> {
  return printable(path.slice(path.lastIndexOf('/') + 1));
}

export async function perform(
  command: Command,
  given: readonly string[],
  line: Line,
  world: CommandContext,
  paint: Paint,
): Promise<Exit> {
  const typed = valuesOf(
    { ...command, flags: [...command.flags, ...everywhere] },
    line,
    world.readText,
  );
  const values = withTimes(command, typed, world.now());
  const options = optionsOf(values);
  // Reports faults of the line before any request to the service.
  const early = callOf(command, given, values);
  const isOfMany = command.operation.id === 'batchMonitors';
  if (isOfMany) partsOf(early.body);
  if (options.csv && !command.operation.csv)
    throw new UsageFault(`${commandName(command)} has no CSV.`);
  if (options.all && !command.paged)
    throw new UsageFault(`${commandName(command)} is not a list: --all has no meaning there.`);
  if (options.all && early.query?.cursor !== undefined)
    throw new UsageFault('--all walks from the first page: leave --cursor out.');
  const asks = options.yes ? undefined : deadly[command.operation.id];
  if (asks && !world.attended) {
    world.err(`${asks.left}: ${asks.because}, and nobody can be asked here. Say it with --yes.\n`);
    return exits.usage;
  }
  const client = clientOf(world);
  const whole = await withIds(command, { rest: given, values }, { client, commands });
  const call = callOf(command, whole.rest, whole.values);
  if (asks) {
    const refused = await mayGo(asks, client, call.path, world);
    if (refused !== undefined) return refused;
  }

  const progress =
    world.attended && (options.all || isOfMany)
      ? (count: number) => world.err(`\r${count} so far …`)
      : undefined;
  let answer: ApiAnswer;
  try {
    if (isOfMany) return await sendMany(command, call, { client, options, world, paint, progress });
    const complete = call.amendments
      ? amendedCall(call, (await client.call({ method: 'GET', path: call.path })).body)
      : call;
    answer = options.all
      ? await client.callAllPages(call, progress)
      : await client.call(options.csv ? { ...complete, accept: csvType } : complete);
  } finally {
    if (progress) world.err(clearLine);
  }
  if (options.csv) {
    world.out(String(answer.body));
    return exits.done;
  }
  printAnswer(answer.body, options, world, paint, command.operation.columns);
  printMore(answer.body, call, options, world);
  for (const warning of configWarnings(call.body, answer.body))
    world.err(`antipode: ${printable(warning)} (antipode help config lists what is)\n`);
  return exits.done;
}

/** What the flags of every command wish for. */
type Options = {
  readonly json: boolean;
  readonly csv: boolean;
  readonly all: boolean;
  readonly yes: boolean;
  readonly fields: Fields | undefined;
};

function optionsOf(values: readonly Given[]): Options {
  const { json, csv, all, yes, fields } = inputOf(values);
  return {
    json: json === true,
    csv: csv === true,
    all: all === true,
    yes: yes === true,
    fields: typeof fields === 'string' ? fieldsOf(fields) : undefined,
  };
}

/** Whether it may proceed: confirmed on the command line, or by the user. */
async function mayGo(
  { nameOf, question, left }: Deadly,
  client: HttpClient,
  path: string,
  world: CommandContext,
): Promise<Exit | undefined> {
  const answer = await world.ask(question(await nameOf(client, path)));
  if (answer !== undefined && /^y(es)?$/i.test(answer.trim())) return undefined;
  world.err(`${answer === undefined ? '\n' : ''}${left}.\n`);
  return answer === undefined ? exits.interrupted : exits.usage;
}

type Sending = {
  readonly client: HttpClient;
  readonly options: Options;
  readonly world: CommandContext;
  readonly paint: Paint;
  readonly progress: ((count: number) => void) | undefined;
};

/**
 * Sends part after part. What was done before a failed call stays done, and is reported before the
 * failure.
 */
async function sendMany(
  { operation }: Command,
  call: CommandCall,
  { client, options, world, paint, progress }: Sending,
): Promise<Exit> {
  const answers: unknown[] = [];
  const tell = (): void => {
    const body = togetherOf(answers);
    if (progress) world.err(clearLine);
    printAnswer(body, options, world, paint, operation.columns);
    if (world.columns !== undefined && !options.json) world.out(`\n${summaryOf(body)}`);
  };
  try {
    for (const body of partsOf(call.body)) {
      answers.push((await client.call({ ...call, body })).body);
      progress?.(memberCount(togetherOf(answers)));
    }
  } catch (error) {
    if (answers.length > 0) tell();
    throw error;
  }
  tell();
  return hasRefused(togetherOf(answers)) ? exits.refused : exits.done;
}

function printAnswer(
  body: unknown,
  { json, fields }: Options,
  world: CommandContext,
  paint: Paint,
  listed: Command['operation']['columns'],
): void {
  if (world.columns !== undefined && !json) {
    const text = render(body, { columns: world.columns, paint, now: world.now(), fields, listed });
    world.out(text === '' ? 'Done.\n' : text);
  } else if (body !== null)
    world.out(`${JSON.stringify(fields ? withFields(body, fields) : body)}\n`);
  if (!fields) return;
  const { missing, there } = missingFields(body, fields);
  if (missing.length > 0)
    world.err(
      `antipode: nothing here has ${printable(missing.join(', '))}; there are ${printable(there.join(', '))}\n`,
    );
}

function memberCount(body: unknown): number {
  const items = memberOf(body, 'items');
  return Array.isArray(items) ? items.length : 0;
}

/** A script would take the first page for the whole list without this message. */
function printMore(
  body: unknown,
  call: CommandCall,
  { json }: Options,
  world: CommandContext,
): void {
  const seen = world.columns !== undefined && !json;
  const asked = call.query?.limit !== undefined || call.query?.cursor !== undefined;
  if (seen || asked || nextOf(body) === undefined || !isRecord(body) || !Array.isArray(body.items))
    return;
  world.err(
    `antipode: only the first ${body.items.length} are here, there are more: --all gives all of them\n`,
  );
}
