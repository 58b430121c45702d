import { isDeepStrictEqual } from 'node:util';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { newPingToken, pingFingerprint } from '../../shared/checks/heartbeat/config.ts';
import { type InOrganisation, notFound } from '../gate/context.ts';
import { enforceLimit } from '../gate/plans.ts';
import { groupsAmong } from '../groups/queries.ts';
import { aliasFingerprint, aliasOwners, aliasTaken } from '../heartbeats/alias-queries.ts';
import { checkersOf } from '../probes/places.ts';
import { pingTokenOf, secretsOf } from '../secrets/at-rest.ts';
import { circlesAmong, type Dependent } from './dependencies.ts';
import { dependentsOf } from './dependency-queries.ts';
import {
  amendMonitor,
  type Circumstances,
  draftMonitor,
  labelsFrom,
  type Monitor,
  type MonitorInput,
  type MonitorPatch,
} from './model.ts';
import {
  countMonitors,
  insertMonitors,
  insertPingTokens,
  type News,
  notifyOwners,
  updateMonitors,
  writeMemberships,
} from './queries.ts';
import { monitorFrom, type StoredMonitor, type WrittenMonitor } from './row.ts';
import { openSecrets } from './secrets.ts';

/**
 * The one way to create and change monitors. A call for one, a batch, what a page does to several,
 * its undo, and a file are lists of changes. A list takes a few statements, however long it is, and
 * runs under the organisation's lock.
 */
export type Change = {
  /** The monitor that is changed, as the lock holds it; undefined: one is created. */
  readonly before: StoredMonitor | undefined;
  /** What a new one is to be known by, where others of the list depend on it. */
  readonly id?: string | undefined;
  readonly type: string;
  /** What a new monitor does not mention has its default. */
  readonly patch: MonitorPatch;
};

/** A monitor as it was and will be. */
export type Planned = Omit<WrittenMonitor, 'secrets'> & {
  readonly result: 'created' | 'changed' | 'unchanged';
  readonly before: StoredMonitor | undefined;
  readonly was: Monitor | undefined;
  /** For the owner of its partition. */
  readonly news: readonly News[];
};

/** Makes all changes. @throws Refusal, the first of them. */
export async function makeChanges(
  context: InOrganisation,
  changes: readonly Change[],
): Promise<readonly Planned[]> {
  const judge = await judgeOf(context, changes);
  const planned: Planned[] = [];
  for (const change of changes) planned.push(await judge(change));
  await writeChanges(context, planned);
  return planned;
}

/** Judges each change by itself, as if those before it that are not refused were made already. */
export async function judgeEach(
  context: InOrganisation,
  changes: readonly Change[],
  others: readonly StoredMonitor[],
): Promise<readonly (Planned | Refusal)[]> {
  const judge = await judgeOf(context, changes, others);
  const judged: (Planned | Refusal)[] = [];
  for (const change of changes)
    try {
      judged.push(await judge(change));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      judged.push(error);
    }
  return judged;
}

/**
 * Judges these changes one after the other. `others`: whoever has an external id that is asked for.
 * @throws Refusal.
 */
export async function judgeOf(
  context: InOrganisation,
  changes: readonly Change[],
  others: readonly StoredMonitor[] = [],
): Promise<(change: Change) => Promise<Planned>> {
  const { sql, organisation } = context;
  const { secrets, partitionOf, registries } = context.with;
  const { id: of, plan } = organisation;
  const circumstances = {
    plan,
    checkers: await checkersOf(sql, of),
    registries: await registries(sql),
  };
  const groups = await groupsAmong(
    sql,
    of,
    changes.flatMap(({ patch: { group, depends_on_groups } }) => [
      ...(group === null ? [] : [group]),
      ...(depends_on_groups ?? []),
    ]),
  );
  const ids = new Map(changes.map((change) => [change, change.before?.id ?? change.id ?? newId()]));
  const dependents = await dependentsAfter(context, ids);
  const circleOf = circlesAmong(dependents);
  const given = changes.flatMap(({ patch: { config } }) => config?.ping_alias ?? []);
  const aliases = new Map(
    await aliasOwners(
      sql,
      of,
      given.filter((alias) => typeof alias === 'string'),
    ),
  );
  let count = changes.every(({ before }) => before) ? 0 : await countMonitors(sql, of);
  const owners = new Map(others.map(({ external_id, id }) => [external_id, id]));
  const called = new Set<string>();

  return async (change) => {
    const { before, type, patch } = change;
    const { external_id } = labelsFrom(patch);
    if (external_id !== null && called.has(external_id))
      throw taken(`"${external_id}" stands twice in this batch; send each once.`);
    if (before && before.type !== type)
      throw new Refusal('type_differs', {
        type: `the monitor "${before.external_id}" is of type ${before.type}, which never changes.`,
      });
    const was =
      before && monitorFrom(before, of, await openSecrets(secrets, sql, before.id, before.secrets));
    const { monitor, news } = was
      ? amended(was, patch, circumstances)
      : created(type, patch, of, circumstances);
    if (patch.group !== null && !groups.has(patch.group)) throw notFound('group_not_found');
    const id = ids.get(change) ?? newId();
    if (patch.depends_on_groups?.some((each) => !groups.has(each)))
      throw notFound('group_not_found');
    if (patch.depends_on_monitors?.some((each) => !dependents.has(each)))
      throw notFound('monitor_not_found');
    refuseCircle(circleOf(id));
    if (external_id !== null && (owners.get(external_id) ?? id) !== id)
      throw taken(`another monitor is "${external_id}" already; choose another one.`);
    if (!before) enforceLimit('monitors', plan, count);
    const { ping_alias } = monitor.secrets;
    if (ping_alias !== undefined) {
      const key = aliasFingerprint(ping_alias);
      if ((aliases.get(key) ?? id) !== id) throw aliasTaken();
      aliases.set(key, id);
    }
    if (!before) count += 1;
    if (external_id !== null) called.add(external_id);
    const result = was && (isDeepStrictEqual(was, monitor) ? 'unchanged' : 'changed');
    const partition = before?.partition ?? partitionOf(id);
    return { result: result ?? 'created', id, partition, monitor, before, was, news };
  };
}

/**
 * Who depends on whom once all of these changes are made, with everybody whom they name. Nothing is
 * read where they change nothing of that.
 */
async function dependentsAfter(
  { sql, organisation }: InOrganisation,
  ids: ReadonlyMap<Change, string>,
): Promise<ReadonlyMap<string, Dependent>> {
  const changes = [...ids.keys()];
  const named = changes.flatMap(({ patch }) => patch.depends_on_monitors ?? []);
  const matters = changes.some(
    ({ patch: { group, depends_on_groups } }) =>
      group !== null || (depends_on_groups ?? []).length > 0,
  );
  if (named.length === 0 && !matters) return new Map();
  const all = await dependentsOf(sql, organisation.id, named);
  for (const [{ before, patch }, id] of ids)
    all.set(id, {
      name: patch.name ?? before?.name ?? '',
      group: patch.group ?? (patch.ungroup ? null : (before?.group_id ?? null)),
      depends_on_monitors: patch.depends_on_monitors ?? before?.depends_on_monitors ?? [],
      depends_on_groups: patch.depends_on_groups ?? before?.depends_on_groups ?? [],
    });
  return all;
}

/** @throws Refusal where a monitor would depend on itself. */
export function refuseCircle(circle: string | undefined): void {
  if (circle !== undefined)
    throw new Refusal(
      'dependencies_invalid',
      `A monitor cannot depend on itself: ${circle}. Take one of these dependencies away.`,
    );
}

function taken(remedy: string): Refusal {
  return new Refusal('external_id_taken', { external_id: remedy });
}

type Outcome = { readonly monitor: Monitor; readonly news: readonly News[] };

function amended(was: Monitor, patch: MonitorPatch, circumstances: Circumstances): Outcome {
  const { monitor, edited, what_is_checked_changed, switched } = amendMonitor(
    was,
    patch,
    circumstances,
  );
  const edit = { change: 'edited', what_is_checked_changed } as const;
  return {
    monitor,
    news: [...(edited ? [edit] : []), ...(switched ? [{ change: switched }] : [])],
  };
}

function created(
  type: string,
  { target, name, enabled, ...patch }: MonitorPatch,
  organisation: string,
  circumstances: Circumstances,
): Outcome {
  const input = { ...patch, type, target: target ?? '', name: name ?? '' };
  const draft = draftMonitor(input, organisation, circumstances);
  return { monitor: { ...draft, enabled: enabled ?? true }, news: [{ change: 'created' }] };
}

/** Writes what is not so already. A new heartbeat gets a token of its own. */
export async function writeChanges(
  { sql, organisation, with: { secrets } }: InOrganisation,
  planned: readonly Planned[],
): Promise<void> {
  if (planned.every(({ result }) => result === 'unchanged')) return;
  const { id: of } = organisation;
  const seal = await secrets.sealer(sql);
  const rowsOf = (wanted: Planned['result']): readonly WrittenMonitor[] =>
    planned
      .filter(({ result }) => result === wanted)
      .map(({ id, partition, monitor }) => {
        const { secrets: own } = monitor;
        const isOpen = Object.keys(own).length === 0;
        const box = isOpen ? null : seal(JSON.stringify(own), secretsOf(id));
        return { id, partition, monitor, secrets: box };
      });
  await insertMonitors(sql, of, rowsOf('created'));
  await updateMonitors(sql, of, rowsOf('changed'));
  await writeMemberships(
    sql,
    of,
    planned.flatMap(({ id, was, monitor: { group } }) =>
      group === (was?.group ?? null) ? [] : [{ monitor: id, group }],
    ),
  );
  await insertPingTokens(
    sql,
    of,
    planned.flatMap(({ result, id, monitor: { kind } }) => {
      if (result !== 'created' || kind !== 'heartbeat') return [];
      const token = newPingToken();
      const box = seal(token, pingTokenOf(id));
      return [{ fingerprint: pingFingerprint(token), monitor: id, box }];
    }),
  );
  await notifyOwners(
    sql,
    of,
    planned.flatMap(({ news, id, partition }) => news.map((each) => ({ id, partition, ...each }))),
  );
}

/** What a call that creates a monitor changes of the one that exists: all that it mentions. */
export function patchOf(input: MonitorInput): MonitorPatch {
  return {
    ...input,
    target: unlessBlank(input.target),
    name: unlessBlank(input.name),
    enabled: null,
    ungroup: false,
  };
}

function unlessBlank(text: string): string | null {
  return text.trim() === '' ? null : text;
}
