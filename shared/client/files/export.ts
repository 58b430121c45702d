import { stringify } from 'yaml';
import { type FileKind, fileKinds, fileObjects, isFileKey, keyFrom } from '../../api/files.ts';
import { isRecord } from '../../base/json.ts';
import { asLiteral, type Raw } from './expand.ts';

/** What there is, as a file says it. */

/** The answers of the API, whole lists of each kind; status pages one by one. */
type Account = Readonly<Record<FileKind, readonly Raw[]>> & {
  /** What the file of this name manages already, and what others do. */
  readonly managed: readonly { readonly kind: string; readonly key: string; readonly id: string }[];
  readonly elsewhere: readonly { readonly id: string; readonly file: string }[];
};

type Exported = {
  readonly objects: Readonly<Record<FileKind, Readonly<Record<string, Raw>>>>;
  /** What the file cannot say, a sentence each. */
  readonly notes: readonly string[];
};

type Keys = {
  readonly keyOf: (id: unknown) => string | undefined;
  readonly ownKey: (id: string) => boolean;
};

/** The file `name` of an account. Fields with their defaults are left out. */
export function exported(name: string, account: Account, now: number): Exported {
  const notes: string[] = [];
  const theirs = new Map(account.elsewhere.map(({ id, file }) => [id, file]));
  const leftOut = new Map<string, number>();
  const isOurs =
    (kind: FileKind) =>
    (row: Raw): boolean => {
      const other = theirs.get(text(row.id));
      if (other !== undefined) {
        leftOut.set(other, (leftOut.get(other) ?? 0) + 1);
        return false;
      }
      if (kind === 'channels' && row.owner !== null) return false;
      const isOver =
        kind === 'maintenance' && row.rrule === null && Date.parse(text(row.ends_at)) <= now;
      if (isOver) notes.push(`Maintenance ${text(row.name)} is over, and left out.`);
      return !isOver;
    };
  const rows = byKind((kind) => account[kind].filter(isOurs(kind)));
  for (const [file, count] of leftOut)
    notes.push(
      `${count === 1 ? '1 object that file' : `${count} objects that file`} ${file} manages ${count === 1 ? 'is' : 'are'} left out; --name ${file} exports ${count === 1 ? 'it' : 'them'}.`,
    );
  const keys = keysOf(name, rows, account);
  const { keyOf } = keys;
  /** What another file manages goes by its external id. */
  const references = new Map(
    [...account.monitors, ...account.groups].flatMap(({ id, external_id }) =>
      typeof external_id === 'string' ? [[text(id), external_id] as const] : [],
    ),
  );
  const referTo = (id: unknown, by: string): string[] => {
    const found = keyOf(id) ?? references.get(text(id));
    if (found === undefined)
      notes.push(`${by} names something that no file can name, and goes on without it.`);
    return found === undefined ? [] : [found];
  };
  const objects = byKind((kind) =>
    Object.fromEntries(
      rows[kind].flatMap((row) => {
        const key = keyOf(row.id) ?? '';
        const own = fieldsOf[kind](row, { key, name, referTo, notes });
        // What it named is deleted, and the service refuses a window over nothing.
        if (kind === 'maintenance' && own.monitors === undefined && own.groups === undefined) {
          notes.push(`Maintenance ${text(row.name)} covers nothing any more, and is left out.`);
          return [];
        }
        // Without what it names, it would be of all monitors.
        if (
          kind === 'objectives' &&
          ['monitor', 'group'].some((of) => row[of] !== null && !own[of])
        ) {
          notes.push(
            `Objective ${text(row.name)} is of something that no file can name, and is left out.`,
          );
          return [];
        }
        const id = keys.ownKey(text(row.id)) ? {} : { id: row.id };
        return [[key, { ...id, ...own }]];
      }),
    ),
  );
  return { objects, notes };
}

function byKind<Value>(each: (kind: FileKind) => Value): Record<FileKind, Value> {
  return {
    groups: each('groups'),
    monitors: each('monitors'),
    channels: each('channels'),
    maintenance: each('maintenance'),
    objectives: each('objectives'),
    status_pages: each('status_pages'),
  };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The key that it has in the file, or one from its external id or name. */
function keysOf(
  file: string,
  rows: Readonly<Record<FileKind, readonly Raw[]>>,
  { managed }: Account,
): Keys {
  const byId = new Map<string, string>();
  const taken = new Set<string>();
  const managedIds = new Set(managed.map(({ id }) => id));
  for (const { kind, key, id } of managed) {
    byId.set(id, key);
    taken.add(`${kind} ${key}`);
  }
  for (const kind of fileKinds)
    for (const { id, name, slug, external_id, target } of rows[kind]) {
      if (byId.has(text(id))) continue;
      const called = text(external_id).startsWith(`${file}/`)
        ? text(external_id).slice(file.length + 1)
        : text(external_id);
      const wanted =
        [called, text(slug), keyFrom(text(name)), keyFrom(text(target))].find(isFileKey) ??
        'object';
      let key = wanted;
      for (let number = 2; taken.has(`${kind} ${key}`); number += 1)
        key = `${wanted.slice(0, 90)}-${number}`;
      taken.add(`${kind} ${key}`);
      byId.set(text(id), key);
    }
  return { keyOf: (id) => byId.get(text(id)), ownKey: (id) => managedIds.has(id) };
}

type About = {
  readonly key: string;
  readonly name: string;
  readonly referTo: (id: unknown, by: string) => string[];
  readonly notes: string[];
};

const fieldsOf: Readonly<Record<FileKind, (row: Raw, about: About) => Raw>> = {
  groups: (row, about) => ({
    ...unless(row, { name: about.key, description: null }),
    ...externalId(row, about),
  }),
  monitors: (row, about) => ({
    type: row.type,
    ...unless(row, { target: '', name: about.key }),
    ...(row.interval_s === 60 && row.type !== 'domain' ? {} : { interval_s: row.interval_s }),
    ...unless(row, {
      config: {},
      enabled: true,
      affects_group_status: true,
      tags: [],
      runbook: null,
    }),
    ...(row.group === null ? {} : { group: about.referTo(row.group, about.key)[0] }),
    ...listed(row.depends_on_monitors, 'depends_on_monitors', about),
    ...listed(row.depends_on_groups, 'depends_on_groups', about),
    ...externalId(row, about),
  }),
  channels: (row, about) => ({
    kind: row.kind,
    ...unless(row, { name: about.key, config: {}, enabled: true, covers: 'all' }),
    ...listed(row.monitors, 'monitors', about),
    ...listed(row.groups, 'groups', about),
    ...unless(row, { delay_s: 0, reminder_s: null, hours: null }),
    warnings: row.warnings,
  }),
  maintenance: (row, about) => ({
    ...unless(row, { name: about.key }),
    starts_at: row.starts_at,
    ends_at: row.ends_at,
    ...unless(row, { rrule: null }),
    time_zone: row.time_zone,
    ...listed(row.monitors, 'monitors', about),
    ...listed(row.groups, 'groups', about),
  }),
  objectives: (row, about) => ({
    ...unless(row, { name: about.key }),
    ...(row.monitor === null ? {} : { monitor: about.referTo(row.monitor, about.key)[0] }),
    ...(row.group === null ? {} : { group: about.referTo(row.group, about.key)[0] }),
    ...unless(row, { tag: null }),
    target: row.target,
    ...unless(row, { latency_ms: null, period: '30d', on_status_pages: false }),
  }),
  status_pages: (row, about) => {
    if (row.has_password === true)
      about.notes.push(
        `Status page ${text(row.name)} keeps its password; add password: \${NAME} to create it elsewhere.`,
      );
    const domain = isRecord(row.domain) ? row.domain.name : null;
    const usual = Object.entries(fileObjects.status_pages.shape).map(([field, { absent }]) => [
      field,
      absent?.value,
    ]);
    return unless(
      { ...row, id: null, domain, rows: rowsOf(row, about) },
      { ...Object.fromEntries(usual), name: about.key, slug: about.key, access: 'public' },
    );
  },
};

/** Only fields that do not have this value. */
function unless(row: Raw, defaults: Raw): Raw {
  return Object.fromEntries(
    Object.entries(defaults).flatMap(([field, usual]) => {
      const value = row[field] ?? null;
      return JSON.stringify(value) === JSON.stringify(usual) ? [] : [[field, value]];
    }),
  );
}

function externalId({ external_id }: Raw, { key, name }: About): Raw {
  return typeof external_id !== 'string' || external_id === `${name}/${key}` ? {} : { external_id };
}

function listed(ids: unknown, field: string, { key, referTo }: About): Raw {
  const keys = Array.isArray(ids) ? ids.flatMap((id) => referTo(id, key)) : [];
  return keys.length === 0 ? {} : { [field]: keys };
}

function rowsOf({ monitors, groups }: Raw, { key, referTo }: About): Raw[] {
  const all = [
    ...(Array.isArray(monitors) ? monitors.map((row) => ({ ...row, kind: 'monitor' })) : []),
    ...(Array.isArray(groups) ? groups.map((row) => ({ ...row, kind: 'group' })) : []),
  ].toSorted((a, b) => Number(a.position) - Number(b.position));
  return all.flatMap(({ kind, monitor, group, display_name }) =>
    referTo(kind === 'monitor' ? monitor : group, key).map((one) => ({
      [kind]: one,
      display_name,
    })),
  );
}

/** The text of a file. */
export function fileText(name: string, { objects }: Pick<Exported, 'objects'>): string {
  const kinds = fileKinds.filter((kind) => Object.keys(objects[kind]).length > 0);
  const root = { name, ...Object.fromEntries(kinds.map((kind) => [kind, objects[kind]])) };
  return stringify(root, { lineWidth: 100, aliasDuplicateObjects: false });
}

/** The same of texts as they are: none of them is meant as a variable. */
export function literalFileText(name: string, { objects }: Pick<Exported, 'objects'>): string {
  return fileText(name, {
    objects: byKind((kind) =>
      Object.fromEntries(
        Object.entries(objects[kind]).map(([key, fields]) => [
          key,
          Object.fromEntries(
            Object.entries(fields).map(([field, value]) => [field, asLiteral(value)]),
          ),
        ]),
      ),
    ),
  });
}
