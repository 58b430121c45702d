import { accepted } from '../../api/accepted.ts';
import { fileKinds, type PlannedObject } from '../../api/files.ts';
import { UsageFault } from '../../base/env.ts';
import { isRecord, memberOf } from '../../base/json.ts';
import type { FileFault } from '../../imports/document.ts';
import { alone, flag, inputOf, type Line, valuesOf } from '../arguments.ts';
import { everywhere } from '../calls.ts';
import type { Command } from '../commands.ts';
import { type CommandContext, clientOf, type Exit, exits, type HttpClient } from '../http.ts';
import { type Paint, printable } from '../terminal.ts';
import { before, inSlices, isRefused, send, without } from './calls.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import type { Outside, Raw } from './expand.ts';
import { exported, literalFileText } from './export.ts';
import { hasChanges, planText, summaryOf } from './plan.ts';

/** `antipode validate`, `plan`, `apply`, `export` and `import`: monitors as a file. */

export type FileCommand = Pick<Command, 'words' | 'flags'> & {
  readonly summary: string;
  /** What follows its words, and examples, in its help. */
  readonly usage?: string;
  readonly details?: string;
  readonly run: (line: Line, world: CommandContext, paint: Paint) => Promise<Exit>;
};

const usualFile = 'antipode.yaml';
const flags = {
  file: flag('file', `the file; may be repeated (${usualFile} when not given)`, {
    kind: 'list',
    placeholder: 'FILE',
  }),
  prune: flag('prune', 'delete what the file made and no longer has', alone),
  skip: flag(
    'skip-refused',
    'leave out what the service refuses, list it, and apply the rest',
    alone,
  ),
  name: flag('name', 'the name of the file: small letters, digits and dashes', {
    placeholder: 'NAME',
  }),
};
const ofAll = everywhere.filter(({ name }) =>
  ['json', 'yes', 'no-color', 'help', 'version'].includes(name),
);

const validate: FileCommand = {
  words: ['validate'],
  summary: 'Check a configuration file, without a service',
  flags: [flags.file, ...ofAll],
  run: async (line, world) => {
    const options = optionsOf(validate, line, world);
    const read = readFiles(options.files, world, false);
    if (read === undefined) return exits.refused;
    const count = fileKinds.reduce((sum, kind) => sum + Object.keys(read.objects[kind]).length, 0);
    world.out(
      `${printable(read.name)}: ${count === 1 ? '1 object' : `${count} objects`}, no faults\n`,
    );
    return exits.done;
  },
};

type Options = {
  readonly files: readonly string[];
  readonly prune: boolean;
  readonly skip: boolean;
  readonly yes: boolean;
  readonly json: boolean;
  readonly name: string | undefined;
};

function optionsOf(
  command: Pick<Command, 'words' | 'flags'>,
  line: Line,
  world: CommandContext,
): Options {
  const [, more] = line.words;
  if (more !== undefined)
    throw new UsageFault(
      `${command.words.join(' ')} does not take "${more}"; name a file with --file.`,
    );
  const {
    file,
    prune,
    'skip-refused': skip,
    yes,
    json,
    name,
  } = inputOf(valuesOf(command, line, world.readText));
  return {
    files: Array.isArray(file) ? file.map(String) : [usualFile],
    prune: prune === true,
    skip: skip === true,
    yes: yes === true,
    json: json === true,
    name: typeof name === 'string' ? name : undefined,
  };
}

/** Undefined when it has faults, which are reported then. */
function readFiles(
  files: readonly string[],
  world: CommandContext,
  isFilled: boolean,
): Configuration | undefined {
  const outside: Outside = { environment: world.environment, readText: world.readText };
  const texts = files.map((file) => {
    try {
      return { file, text: world.readText(file) };
    } catch {
      throw new UsageFault(`${file} cannot be read; name the file by --file.`);
    }
  });
  const read = readConfiguration(texts, isFilled ? outside : undefined);
  for (const warning of read.warnings) world.err(`${faultLine(warning)}\n`);
  for (const fault of read.faults) world.err(`${faultLine(fault)}\n`);
  if (read.faults.length === 0) return read;
  world.err(`antipode: ${read.faults.length === 1 ? '1 fault' : `${read.faults.length} faults`}\n`);
  return undefined;
}

function faultLine({ file, line, column, path, message }: FileFault): string {
  return printable(
    `${file}:${line}:${column}: ${path.length === 0 ? '' : `${path.join('.')}: `}${message}`,
  );
}

/** Its exit codes are its own: 0 nothing to do, 1 a fault, 2 changes. */
const plan: FileCommand = {
  words: ['plan'],
  summary: 'Show what applying a configuration file would change',
  flags: [flags.file, flags.prune, ...ofAll],
  run: async (line, world, paint) => {
    try {
      const options = optionsOf(plan, line, world);
      const read = readFiles(options.files, world, true);
      if (read === undefined) return exits.refused;
      const objects = await send(clientOf(world), 'plan', read.name, {
        ...read.objects,
        prune: options.prune,
      });
      world.out(
        options.json ? `${JSON.stringify({ objects })}\n` : planText(objects, paint, read.placeOf),
      );
      if (isRefused(objects)) return exits.refused;
      return hasChanges(objects) ? changesExit : exits.done;
    } catch (error) {
      if (!(error instanceof UsageFault)) throw error;
      world.err(`antipode: ${printable(error.message)}\n`);
      return exits.refused;
    }
  },
};
const changesExit = 2;

const apply: FileCommand = {
  words: ['apply'],
  summary: 'Make everything as a configuration file says',
  flags: [flags.file, flags.prune, flags.skip, ...ofAll],
  run: async (line, world, paint) => {
    const options = optionsOf(apply, line, world);
    if (options.skip && options.prune)
      throw new UsageFault(
        '--skip-refused does not go with --prune, which would delete what is left out.',
      );
    const read = readFiles(options.files, world, true);
    if (read === undefined) return exits.refused;
    const client = clientOf(world);
    const wanted = { ...read.objects, prune: options.prune };
    const {
      objects: chosen,
      planned,
      skipped,
    } = options.skip
      ? await accepted(wanted, (some) => send(client, 'plan', read.name, some), without)
      : {
          objects: wanted,
          planned: await send(client, 'plan', read.name, wanted),
          skipped: [],
        };
    const whole = { ...chosen, prune: options.prune };
    if (!options.json) world.out(planText([...planned, ...skipped], paint, read.placeOf));
    const tell = (objects: readonly PlannedObject[]): void => {
      const all = [...objects, ...skipped];
      world.out(
        options.json ? `${JSON.stringify({ objects: all })}\n` : `Done: ${summaryOf(all)}\n`,
      );
    };
    const ended = skipped.length === 0 ? exits.done : exits.refused;
    if (isRefused(planned)) {
      if (options.json) tell(planned);
      world.err('antipode: nothing was changed\n');
      return exits.refused;
    }
    if (!hasChanges(planned)) {
      tell(planned);
      return ended;
    }
    if (!options.yes) {
      if (!world.attended) {
        world.err(
          'antipode: nothing was changed, because nobody can be asked here. Say it with --yes.\n',
        );
        return exits.usage;
      }
      const answer = await world.ask('Apply it? [y/N] ');
      if (answer === undefined || !/^y(es)?$/i.test(answer.trim())) {
        world.err('Nothing was changed.\n');
        return answer === undefined ? exits.interrupted : exits.usage;
      }
    }
    const done = await inSlices(client, { name: read.name, objects: chosen }, whole, world);
    tell(done.map((object) => before(planned, object)));
    return isRefused(done) ? exits.refused : ended;
  },
};

const exporting: FileCommand = {
  words: ['export'],
  summary: 'Print everything that there is as a configuration file',
  flags: [flags.name, ...ofAll],
  run: async (line, world) => {
    const { name = 'main' } = optionsOf(exporting, line, world);
    const client = clientOf(world);
    const get = async (path: string): Promise<unknown> =>
      (await client.call({ method: 'GET', path: `/api/v1/${path}` })).body;
    const file = await get(`files/${encodeURIComponent(name)}`);
    const pages: Raw[] = [];
    for (const { id } of await itemsOf(client, 'status-pages')) {
      const page = await get(`status-pages/${String(id)}`);
      if (isRecord(page)) pages.push(page);
    }
    const entries = (member: 'objects' | 'elsewhere') => {
      const list = memberOf(file, member);
      return Array.isArray(list) ? list.filter(isRecord) : [];
    };
    const result = exported(
      name,
      {
        groups: await itemsOf(client, 'groups'),
        monitors: await itemsOf(client, 'monitors'),
        channels: await itemsOf(client, 'channels'),
        maintenance: await itemsOf(client, 'maintenance'),
        objectives: await itemsOf(client, 'objectives'),
        status_pages: pages,
        managed: entries('objects').map(({ kind, key, id }) => ({
          kind: String(kind),
          key: String(key),
          id: String(id),
        })),
        elsewhere: entries('elsewhere').map(({ id, file: other }) => ({
          id: String(id),
          file: String(other),
        })),
      },
      world.now(),
    );
    world.out(literalFileText(name, result));
    for (const note of result.notes) world.err(`antipode: ${printable(note)}\n`);
    return exits.done;
  },
};

async function itemsOf(client: HttpClient, path: string): Promise<readonly Raw[]> {
  const items = memberOf(
    (await client.callAllPages({ method: 'GET', path: `/api/v1/${path}`, query: { limit: '200' } }))
      .body,
    'items',
  );
  return Array.isArray(items) ? items.filter(isRecord) : [];
}

const importing: FileCommand = {
  words: ['import'],
  summary: 'Make a configuration file of what another service has',
  usage: 'SOURCE [FILE …]',
  details: `Sources
  uptime-kuma FILE      kuma.db of Uptime Kuma 1.23 or 2 (only read), or the backup of version 1
  gatus FILE …          config.yaml
  blackbox FILE …       prometheus.yml or lists of targets, and blackbox.yml
  uptimerobot           by its API: the key in UPTIMEROBOT_API_KEY; or --export with the CSV of its dashboard
  healthchecks          by its API: the key in HEALTHCHECKS_API_KEY
  better-stack          by its API: the token in BETTER_STACK_API_TOKEN

  What has no counterpart is listed with its reason. Secrets stay out of the file: it names variables, which are
  listed too. Nothing is changed before antipode apply.

Example
  antipode import uptime-kuma kuma.db --out antipode.yaml
`,
  flags: [
    flag('out', 'write the file here; one that is there is never overwritten', {
      placeholder: 'FILE',
    }),
    flag('report', 'write the list of what has no counterpart here', { placeholder: 'FILE' }),
    flag('export', 'read what was downloaded, instead of calling the API', {
      placeholder: 'FILE',
    }),
    flag('key-file', 'read the key of the API from this file', { placeholder: 'FILE' }),
    flag('url', 'where a service of your own is', { placeholder: 'ADDRESS' }),
    flags.name,
    ...ofAll.filter(({ name }) => name === 'help' || name === 'version'),
  ],
  run: async (line, world) => {
    const input = inputOf(valuesOf(importing, line, world.readText));
    const given = (key: string): string | undefined =>
      typeof input[key] === 'string' ? input[key] : undefined;
    const [, source, ...files] = line.words;
    const downloaded = given('export');
    // Most commands need nothing of it.
    const { importFile } = await import('./import.ts');
    return importFile(
      {
        source,
        files: downloaded === undefined ? files : [...files, downloaded],
        out: given('out'),
        report: given('report'),
        keyFile: given('key-file'),
        url: given('url'),
        name: given('name'),
      },
      world,
    );
  },
};

export const fileCommands: readonly FileCommand[] = [validate, plan, apply, exporting, importing];
