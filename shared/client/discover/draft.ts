import { createHash } from 'node:crypto';
import { isFileKey } from '../../api/files.ts';
import type { Raw } from '../files/expand.ts';
import { type Options, optionsIn } from './annotations.ts';
import type { Exposed, Site } from './exposed.ts';

/** The configuration file of a cluster, as `antipode.yaml` would say it. */

export type Draft = {
  readonly objects: {
    readonly groups: Readonly<Record<string, Raw>>;
    readonly monitors: Readonly<Record<string, Raw>>;
  };
  /** What the monitors are without their annotations. */
  readonly plain: Readonly<Record<string, Raw>>;
  /** What has no monitor or lost an annotation, with the reason, a sentence each. */
  readonly notes: readonly string[];
};

/** The same for the same objects, in whatever order. @param file the name of the file. */
export function draftOf(file: string, exposed: Iterable<Exposed>): Draft {
  const groups: Record<string, Raw> = {};
  const monitors: Record<string, Raw> = {};
  const plain: Record<string, Raw> = {};
  const notes: string[] = [];
  const checked = new Map<string, string>();
  for (const object of [...exposed].toSorted(byIdentity)) {
    const title = `${object.kind} ${object.namespace}/${object.name}`;
    const options = optionsIn(object.annotations);
    if (options.isIgnored) continue;
    for (const note of [...object.notes, ...options.notes]) notes.push(`${title}: ${note}`);
    for (const site of object.sites) {
      const target = targetOf(site, options);
      if (target === undefined) {
        notes.push(`${title}: ${site.host}${site.path} makes no address.`);
        continue;
      }
      const other = checked.get(target);
      if (other !== undefined) {
        notes.push(`${title}: ${target} is checked for ${other} already.`);
        continue;
      }
      checked.set(target, title);
      const key = keyOf(object, target, monitors);
      const { host, pathname } = new URL(target);
      const group = groupOf(object, options);
      if (group !== undefined && isOwnGroup(group))
        groups[group] = { name: `${file}/${group}`.slice(0, 200) };
      const address = { type: 'https', target };
      const ownName = pathname === '/' ? host : `${host}${pathname}`;
      plain[key] = {
        ...address,
        name: ownName.slice(0, 200),
        ...(options.group === undefined && { group }),
      };
      monitors[key] = {
        ...address,
        ...(group !== undefined && { group }),
        name: nameOf(object, site, options, ownName),
        ...options.fields,
      };
    }
  }
  return { objects: { groups, monitors }, plain, notes };
}

function byIdentity(one: Exposed, other: Exposed): number {
  const [a, b] = [one, other].map(({ namespace, name, kind }) =>
    // An Ingress before a route of the same name.
    [namespace, name, kind === 'Ingress' ? '0' : '1'].join('\0'),
  );
  return (a ?? '') < (b ?? '') ? -1 : 1;
}

function targetOf({ host, path, isTls }: Site, options: Options): string | undefined {
  const scheme = options.scheme ?? (isTls ? 'https' : 'http');
  const origin = `${scheme}://${host}`;
  const address = `${origin}${options.path ?? path}`;
  if (!/^[a-z0-9.-]+$/.test(host) || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  return url.origin === origin && url.href.length <= 2048 ? url.href : undefined;
}

/** `namespace/name/host/path`; shortened, with a few letters of its own, where no key may be so. */
function keyOf(
  { kind, namespace, name }: Exposed,
  target: string,
  taken: Readonly<Record<string, unknown>>,
): string {
  const { host, pathname } = new URL(target);
  const whole = `${namespace}/${name}/${host}${pathname}`.replace(/\/+$/, '');
  if (isFileKey(whole) && !Object.hasOwn(taken, whole)) return whole;
  const mark = createHash('sha256').update(`${kind} ${whole}`).digest('hex').slice(0, 8);
  const short = whole
    .toLowerCase()
    .replaceAll(/[^a-z0-9._/-]+/g, '-')
    .slice(0, 90)
    .replace(/[^a-z0-9]+$/, '');
  return `${short}-${mark}`;
}

/** A key without a slash is a group that the file makes, any other the external id of one elsewhere. */
function isOwnGroup(group: string): boolean {
  return !group.includes('/') && isFileKey(group);
}

function groupOf({ namespace }: Exposed, { group }: Options): string | undefined {
  return group === '' ? undefined : (group ?? namespace);
}

function nameOf({ sites }: Exposed, { host }: Site, { name }: Options, ownName: string): string {
  if (name === undefined || name.trim() === '') return ownName.slice(0, 200);
  return (sites.length === 1 ? name : `${name} (${host})`).slice(0, 200);
}
