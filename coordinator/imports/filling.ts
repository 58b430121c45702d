import { type FileKind, fileKinds } from '../../shared/api/files.ts';
import { isRecord } from '../../shared/base/json.ts';
import type { Imported, Omission } from '../../shared/imports/result.ts';

/** What was imported, as it is applied: with its secrets, and without what needs a missing one. */

type Objects = Imported['objects'];
type Raw = Readonly<Record<string, unknown>>;
type Filled = { readonly objects: Objects; readonly omissions: readonly Omission[] };

const variable = /\$(\$?)\{([A-Za-z_]\w*)\}/g;

/** `values` by the names of variables; an empty one is none. */
export function filledWith(given: Objects, values: Readonly<Record<string, unknown>>): Filled {
  const omissions: Omission[] = [];
  const isGiven = (name: string): boolean =>
    typeof values[name] === 'string' && values[name] !== '';
  const lacks = (value: unknown): boolean =>
    typeof value === 'string'
      ? [...value.matchAll(variable)].some(([, escaped, name = '']) => !escaped && !isGiven(name))
      : Array.isArray(value)
        ? value.some(lacks)
        : isRecord(value) && Object.values(value).some(lacks);
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string')
      return value.replaceAll(variable, (_, escaped: string, name: string) =>
        escaped === '' ? String(values[name]) : `\${${name}}`,
      );
    if (Array.isArray(value)) return value.map(fill);
    return isRecord(value)
      ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each)]))
      : value;
  };
  /** A monitor is checked without a missing secret; what else needs one is nothing without. */
  const withoutLacking = (kind: FileKind, key: string, object: Raw): Raw | undefined => {
    if (!lacks(object)) return object;
    const { config, ...rest } = object;
    if (kind !== 'monitors' || !isRecord(config) || lacks(rest)) {
      omissions.push({ why: 'skipped: secret missing.', of: [key] });
      return undefined;
    }
    const kept = Object.entries(config).filter(([, value]) => !lacks(value));
    const left = Object.keys(config).filter((each) => kept.every(([name]) => name !== each));
    omissions.push({ why: `without ${left.join(', ')}, because it is not given.`, of: [key] });
    return { ...rest, config: Object.fromEntries(kept) };
  };
  const objects = byKind(given, (kind, key, object) => {
    const kept = withoutLacking(kind, key, object);
    const filled = fill(kept);
    return isRecord(filled) ? filled : undefined;
  });
  return { objects: consistent(objects), omissions };
}

/** Without these, and without what names them. */
export function without(
  given: Objects,
  refused: readonly { readonly kind: string; readonly key: string }[],
): Objects {
  const names = new Set(refused.map(({ kind, key }) => `${kind} ${key}`));
  return consistent(
    byKind(given, (kind, key, object) => (names.has(`${kind} ${key}`) ? undefined : object)),
  );
}

/** Of these, what stands in the others too. */
export function within(given: Objects, others: Objects): Objects {
  return byKind(given, (kind, key, object) =>
    Object.hasOwn(others[kind], key) ? object : undefined,
  );
}

function byKind(
  given: Objects,
  change: (kind: FileKind, key: string, object: Raw) => Raw | undefined,
): Objects {
  const of = (kind: FileKind): Readonly<Record<string, Raw>> =>
    Object.fromEntries(
      Object.entries(given[kind]).flatMap(([key, object]) => {
        const changed = change(kind, key, object);
        return changed === undefined ? [] : [[key, present(changed)]];
      }),
    );
  return {
    groups: of('groups'),
    monitors: of('monitors'),
    channels: of('channels'),
    maintenance: of('maintenance'),
    objectives: of('objectives'),
    status_pages: of('status_pages'),
  };
}

function present(object: Raw): Raw {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

/** References only to what is there. */
function consistent(objects: Objects): Objects {
  const has = (kind: 'groups' | 'monitors', key: unknown): boolean =>
    typeof key === 'string' && Object.hasOwn(objects[kind], key);
  const among = (kind: 'groups' | 'monitors', keys: unknown): unknown =>
    Array.isArray(keys) ? keys.filter((key) => has(kind, key)) : keys;
  return byKind(objects, (kind, _key, object) => {
    if (kind === 'monitors')
      return has('groups', object.group) ? object : { ...object, group: undefined };
    if (kind === 'groups') return object;
    if (kind === 'status_pages')
      return {
        ...object,
        rows: Array.isArray(object.rows)
          ? object.rows.filter((row) => has('monitors', row.monitor) || has('groups', row.group))
          : [],
      };
    const { monitors, groups } = object;
    const rest = {
      ...object,
      monitors: among('monitors', monitors),
      groups: among('groups', groups),
    };
    const covers = [rest.monitors, rest.groups].some(
      (list) => Array.isArray(list) && list.length > 0,
    );
    // A window that covers nothing is none.
    return kind === 'maintenance' && !covers ? undefined : rest;
  });
}

/** What there is, in the order in which it is made. */
export function listed(
  objects: Objects,
): readonly { readonly kind: FileKind; readonly key: string; readonly name: string }[] {
  return fileKinds.flatMap((kind) =>
    Object.entries(objects[kind]).map(([key, { name }]) => ({
      kind,
      key,
      name: typeof name === 'string' ? name : key,
    })),
  );
}
