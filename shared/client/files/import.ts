import { closeSync, openSync, readSync, writeFileSync } from 'node:fs';
import { isFileName } from '../../api/files.ts';
import { UsageFault } from '../../base/env.ts';
import { codeOf } from '../../base/errors.ts';
import { version } from '../../base/process.ts';
import { whyNotReached } from '../../base/text.ts';
import { readDocument } from '../../imports/document.ts';
import {
  downloadFrom,
  isService,
  type Reach,
  type Service,
  SourceRefused,
} from '../../imports/download.ts';
import { type Imported, reportOf } from '../../imports/result.ts';
import type { Raw } from '../../imports/rows.ts';
import {
  convert,
  isSource,
  isYaml,
  readAnswer,
  type Source,
  sources,
  unreadable,
} from '../../imports/sources.ts';
import { importKuma, kumaTables } from '../../imports/uptime-kuma.ts';
import { CallRefused, type CommandContext, type Exit, exits, ServiceNotReached } from '../http.ts';
import { printable } from '../terminal.ts';
import { readConfiguration } from './configuration.ts';
import { fileText } from './export.ts';

/** `antipode import`: the configuration of another program as a file of ours. */

export type ImportOptions = {
  readonly source: string | undefined;
  readonly files: readonly string[];
  readonly out: string | undefined;
  readonly report: string | undefined;
  readonly keyFile: string | undefined;
  readonly url: string | undefined;
  readonly name: string | undefined;
};

export async function importFile(options: ImportOptions, world: CommandContext): Promise<Exit> {
  const { source, out, report } = options;
  if (source === undefined || !isSource(source))
    throw new UsageFault(
      `${source === undefined ? 'import needs a source' : `There is no source "${source}"`}; there are: ${sources.join(', ')}.`,
    );
  const name = options.name ?? source;
  if (!isFileName(name))
    throw new UsageFault(
      '--name: use small letters and digits, with dashes between them, up to 60.',
    );
  const imported = await read(source, options, world);
  if (typeof imported === 'string') return refuse(imported, world);
  const text = fileText(name, imported);
  const { faults } = readConfiguration([{ file: 'antipode.yaml', text }], undefined);
  const [fault] = faults;
  if (fault)
    return refuse(
      `The file would have ${faults.length} faults; the first: ${fault.message}`,
      world,
    );
  if (out === undefined) world.out(text);
  else writeNew(out, text, '--out');
  const told = reportOf(imported);
  if (report !== undefined) writeNew(report, told, '--report');
  else if (told !== '') world.err(harmlessLines(told));
  const count = Object.values(imported.objects).reduce(
    (sum, objects) => sum + Object.keys(objects).length,
    0,
  );
  const where =
    out === undefined ? '' : ` in ${out}; antipode plan --file ${out} shows what it would do`;
  world.err(`antipode: ${count === 1 ? '1 object' : `${count} objects`}${printable(where)}\n`);
  return exits.done;
}

function refuse(message: string, world: CommandContext): Exit {
  world.err(`antipode: ${printable(message)}\n`);
  return exits.refused;
}

function harmlessLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** Never over a file that is there. */
function writeNew(path: string, text: string, flag: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    throw new UsageFault(
      codeOf(error) === 'EEXIST'
        ? `${path} is there already; choose another name with ${flag}.`
        : `${path} cannot be written (${codeOf(error)}).`,
    );
  }
}

async function read(
  source: Source,
  options: ImportOptions,
  world: CommandContext,
): Promise<Imported | string> {
  const { files } = options;
  const [first, second] = files;
  if (first === undefined) {
    if (isService(source)) {
      const answer = await download(source, options, world);
      return convert(source, [answer], today(world));
    }
    throw new UsageFault(`import ${source} needs a file, as in antipode import ${source} FILE.`);
  }
  if (second !== undefined && !isYaml(source))
    throw new UsageFault(`import ${source} takes one file.`);
  if (source === 'uptime-kuma' && isDatabase(first))
    return importKuma(await tablesIn(first), today(world));
  const documents: unknown[] = [];
  for (const file of files) {
    const document = documentIn(source, file, world);
    if ('fault' in document) return document.fault;
    documents.push(document.value);
  }
  return convert(source, documents, today(world));
}

function today(world: CommandContext): string {
  return new Date(world.now()).toISOString().slice(0, 10);
}

function documentIn(
  source: Source,
  file: string,
  world: CommandContext,
): { readonly value: unknown } | { readonly fault: string } {
  let text: string;
  try {
    text = world.readText(file);
  } catch (error) {
    throw new UsageFault(`${file} cannot be read (${codeOf(error)}).`);
  }
  if (!isYaml(source)) {
    const value = readAnswer(source, text);
    return value === undefined ? { fault: `${file} ${unreadable(source)}` } : { value };
  }
  const { value, faults } = readDocument(file, text);
  const [fault] = faults;
  return fault ? { fault: `${file}:${fault.line}:${fault.column}: ${fault.message}` } : { value };
}

const beginning = 'SQLite format 3\0';

function isDatabase(path: string): boolean {
  if (path === '-') return false;
  const bytes = Buffer.alloc(beginning.length);
  try {
    const file = openSync(path, 'r');
    try {
      readSync(file, bytes, 0, bytes.length, 0);
    } finally {
      closeSync(file);
    }
  } catch {
    return false; // Reading it as text says why it cannot be read.
  }
  return bytes.toString('latin1') === beginning;
}

/** Only reads; a database of a running Kuma stays as it is. */
async function tablesIn(path: string): Promise<Readonly<Record<string, readonly Raw[]>>> {
  const sqlite = await import('node:sqlite').catch(() => undefined);
  if (sqlite === undefined)
    throw new UsageFault(
      `kuma.db is read by Node 22.13 or later; this is Node ${process.versions.node}.`,
    );
  const database = new sqlite.DatabaseSync(path, { readOnly: true });
  try {
    const there = new Set(
      database
        .prepare("select name from sqlite_master where type = 'table'")
        .all()
        .map(({ name }) => String(name)),
    );
    if (!there.has('monitor'))
      throw new UsageFault(`${path} is no database of Uptime Kuma: it has no table monitor.`);
    return Object.fromEntries(
      kumaTables
        .filter((table) => there.has(table))
        .map((table) => [table, database.prepare(`select * from "${table}"`).all()]),
    );
  } catch (error) {
    if (error instanceof UsageFault) throw error;
    throw new UsageFault(
      `${path} cannot be read as a database (${error instanceof Error ? error.message : 'unknown'}). Copy kuma.db with its kuma.db-wal, and import the copy.`,
    );
  } finally {
    database.close();
  }
}

const variables: Readonly<Record<Service, string>> = {
  uptimerobot: 'UPTIMEROBOT_API_KEY',
  healthchecks: 'HEALTHCHECKS_API_KEY',
  'better-stack': 'BETTER_STACK_API_TOKEN',
};

async function download(
  source: Service,
  { keyFile, url }: ImportOptions,
  world: CommandContext,
): Promise<Raw> {
  const variable = variables[source];
  const key = (
    keyFile === undefined ? world.environment[variable] : world.readText(keyFile)
  )?.trim();
  if (!key)
    throw new UsageFault(
      `import ${source} needs a key of its API: set ${variable}, or name a file with it by --key-file, or what was downloaded by --export.`,
    );
  if (url !== undefined && !(/^https?:\/\/[^/]/.test(url) && URL.canParse(url)))
    throw new UsageFault('--url: enter the address of the service, as https://hc.example.com');
  const wait =
    world.wait ??
    ((seconds: number) => new Promise<void>((resolve) => setTimeout(resolve, seconds * 1_000)));
  try {
    return await downloadFrom(
      source,
      { key, host: url },
      {
        reach: reachFrom(world),
        wait: (seconds) => {
          world.err(`antipode: over the rate of calls; going on in ${seconds} s, as told\n`);
          return wait(seconds);
        },
      },
    );
  } catch (error) {
    if (!(error instanceof SourceRefused)) throw error;
    const status = { key: 401, later: 429, unreadable: 502 }[error.reason];
    throw new CallRefused(status, `${source}_${error.reason}`.replace('-', '_'), error.message);
  }
}

const timeoutMs = 30_000;

function reachFrom(world: CommandContext): Reach {
  return async ({ url, method, headers, body }) => {
    const obstacle = world.reach?.(url);
    if (obstacle !== undefined) world.err(`antipode: ${obstacle}\n`);
    try {
      const response = await fetch(url, {
        method,
        headers: { ...headers, 'user-agent': `antipode/${version}` },
        ...(body === undefined ? {} : { body }),
        // A redirect would take the key elsewhere.
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await response.text();
      return { status: response.status, retryAfter: response.headers.get('retry-after'), text };
    } catch (error) {
      throw new ServiceNotReached(
        `${new URL(url).host} cannot be reached (${whyNotReached(error)}).`,
      );
    }
  };
}
