import { UsageFault } from '../base/env.ts';
import { memberOf } from '../base/json.ts';
import type { Given } from './arguments.ts';
import type { Command } from './commands.ts';
import type { HttpClient } from './http.ts';

/** No thing has that name. The command line itself is valid. */
export class NoSuchName extends Error {}

const whole = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The list from which a parameter or a flag takes its ids, where its path does not say it. */
const listPaths: Readonly<Record<string, string>> = {
  monitor: '/api/v1/monitors',
  monitors: '/api/v1/monitors',
  monitor_id: '/api/v1/monitors',
  depends_on_monitors: '/api/v1/monitors',
  group: '/api/v1/groups',
  groups: '/api/v1/groups',
  group_id: '/api/v1/groups',
  depends_on_groups: '/api/v1/groups',
  incident: '/api/v1/incidents',
  incident_id: '/api/v1/incidents',
};

/**
 * Replaces names and ends of ids by whole ids. Reads each needed list first, and none if all ids
 * are whole.
 */
export async function withIds(
  command: Command,
  { rest, values }: { readonly rest: readonly string[]; readonly values: readonly Given[] },
  { client, commands }: { readonly client: HttpClient; readonly commands: readonly Command[] },
): Promise<{ readonly rest: readonly string[]; readonly values: readonly Given[] }> {
  const read = readerOf(client);
  const listAt = (path: string | undefined): Command | undefined =>
    commands.find(
      ({ operation, paged }) => paged && operation.method === 'GET' && operation.path === path,
    );
  const existing = new Map<string, string>();
  const idIn = async (list: Command | undefined, text: string): Promise<string> => {
    if (list === undefined || text === '' || whole.test(text)) return text;
    const path = list.operation.path.replaceAll(
      /\{(\w+)\}/g,
      (param, name: string) => existing.get(name) ?? param,
    );
    return idOf(text, list, path, read);
  };

  const { path } = command.operation;
  const words: string[] = [];
  // In sequence: a list inside a thing is read once the id of that thing is known.
  for (const [index, { name }] of command.positionals.entries()) {
    const list = listAt(path.slice(0, path.indexOf(`/{${name}}`))) ?? listAt(listPaths[name]);
    const id = await idIn(list, rest[index] ?? '');
    existing.set(name, id);
    words.push(id);
  }
  const resolved = values.map(async (given) => {
    const list = listAt(listPaths[given.flag.key]);
    return typeof given.value === 'string'
      ? { ...given, value: await idIn(list, given.value) }
      : given;
  });
  return { rest: words, values: await Promise.all(resolved) };
}

type Thing = { readonly id: string; readonly names: readonly string[] };

/** Reads a list once for any number of names. */
type Reader = (path: string, query: Readonly<Record<string, string>>) => Promise<readonly Thing[]>;

function readerOf(client: HttpClient): Reader {
  const begun = new Map<string, Promise<readonly Thing[]>>();
  const readAll = async (
    path: string,
    query: Readonly<Record<string, string>>,
  ): Promise<readonly Thing[]> => {
    const { body } = await client.callAllPages({ method: 'GET', path, query });
    const items = memberOf(body, 'items');
    return Array.isArray(items) ? items.flatMap(thingOf) : [];
  };
  return (path, query) => {
    const key = `${path} ${JSON.stringify(query)}`;
    const reading = begun.get(key) ?? readAll(path, query);
    begun.set(key, reading);
    return reading;
  };
}

const nameKeys = ['name', 'display_name', 'title', 'slug'];

function thingOf(item: unknown): Thing[] {
  const id = memberOf(item, 'id');
  if (typeof id !== 'string') return [];
  return [
    {
      id,
      names: nameKeys
        .map((key) => memberOf(item, key))
        .filter((name): name is string => typeof name === 'string'),
    },
  ];
}

const maxTold = 5;

async function idOf(text: string, list: Command, path: string, read: Reader): Promise<string> {
  const noun = path.split('/').at(-1) ?? '';
  // Where the service searches by text, a name costs one request; only the end of an id needs the
  // whole list.
  const searched = list.flags.some(({ key }) => key === 'text') && endOf(text) === undefined;
  const found = matching(await read(path, { ...furthest(list), ...(searched && { text }) }), text);
  const [only, other] = found;
  if (!only)
    throw new NoSuchName(`Nothing in ${noun} is called "${text}", and no id there ends with it.`);
  if (!other) return only.id;
  const told = found
    .slice(0, maxTold)
    .map(({ id, names }) => `  ${id}  ${names[0] ?? ''}`.trimEnd());
  const more = found.length > maxTold ? [`  and ${found.length - maxTold} more`] : [];
  throw new UsageFault(
    [`"${text}" fits ${found.length} in ${noun}. Enter the id of one:`, ...told, ...more].join(
      '\n',
    ),
  );
}

/** The end of an id as tables show it, with or without the sign for the omitted part. */
function endOf(text: string): string | undefined {
  const end = text.replace(/^(…|\.\.\.)/, '').toLowerCase();
  return /^[0-9a-f-]{4,36}$/.test(end) ? end : undefined;
}

function matching(things: readonly Thing[], text: string): readonly Thing[] {
  // The id of a public place is no UUID.
  const named = things.filter(({ id, names }) => id === text || names.includes(text));
  const end = endOf(text);
  return named.length > 0 || end === undefined
    ? named
    : things.filter(({ id }) => id.endsWith(end));
}

/**
 * A list with a default of some days is read as far back as possible: old things have names too.
 */
function furthest({ operation }: Command): Readonly<Record<string, string>> {
  const most = operation.query.days?.schema.maximum;
  return typeof most === 'number' ? { days: String(most) } : {};
}
