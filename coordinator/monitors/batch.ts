import { isDeepStrictEqual } from 'node:util';
import { batchMonitors as operation } from '../../shared/api/monitors.ts';
import type { InputOf } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { newPingToken, pingFingerprint } from '../../shared/checks/heartbeat/config.ts';
import { enqueueAll, type MonitorChange } from '../database/outbox.ts';
import { handle } from '../gate/bind.ts';
import { type InOrganisation, notFound, orNotFound } from '../gate/context.ts';
import { groupsAmong } from '../groups/queries.ts';
import { aliasFingerprint, aliasOwners, aliasTaken } from '../heartbeats/alias-queries.ts';
import { enforceLimit, plans } from '../organisations/plans.ts';
import { checkersOf } from '../probes/places.ts';
import { pingTokenOf, secretsOf } from '../secrets/at-rest.ts';
import { patchOf, typeDiffers } from './changes.ts';
import * as contract from './contract.ts';
import {
  amendMonitor,
  type Circumstances,
  draftMonitor,
  kindFrom,
  labelsFrom,
  type MonitorPatch,
  sameJson,
  usualIntervals,
} from './model.ts';
import {
  countMonitors,
  insertMonitors,
  insertPingTokens,
  monitorsCalled,
  monitorsForChange,
  updateMonitors,
  writeMemberships,
} from './queries.ts';
import { monitorFrom, type StoredMonitor, type WrittenMonitor } from './row.ts';
import { openSecrets } from './secrets.ts';

type Noted = Readonly<Record<string, unknown>>;

/** Takes a few statements, however many items there are. */
export const batchMonitors = handle(operation)(async (context, { items, mode }) => {
  const known = await knownFor(context, items);
  const judged = judgeAll(
    items.map((item) => ({
      item,
      enabled: true,
      before: known.existing.get(item.external_id?.trim() ?? ''),
      patch: patchOf(item),
    })),
    known,
    await countMonitors(context.sql, context.organisation.id),
  );
  const planned = judged.flatMap((each) => (each instanceof Refusal ? [] : [each]));
  const refused = judged.length - planned.length;
  const applied = mode === 'each' || refused === 0;
  if (applied && planned.length > 0) await write(context, planned);
  const done = applied ? planned : [];
  context.note({
    after: {
      monitors: done
        .filter(({ result }) => result !== 'unchanged')
        .map(({ result, row: { id, monitor } }) => ({ id, name: monitor.name, result })),
      refused,
    },
  });
  return {
    applied,
    created: done.filter(({ result }) => result === 'created').length,
    changed: done.filter(({ result }) => result !== 'created').length,
    refused,
    items: judged.map((each, position) => {
      const item = {
        id: null,
        name: items[position]?.name || null,
        external_id: items[position]?.external_id ?? null,
        error: null,
      };
      if (each instanceof Refusal)
        return { ...item, result: 'refused', error: { code: each.code, message: each.message } };
      if (!applied) return { ...item, result: 'left' };
      const { row, result } = each;
      return {
        result: result === 'created' ? result : 'changed',
        id: row.id,
        name: row.monitor.name,
        external_id: row.monitor.external_id,
        error: null,
      };
    }),
  };
});

type Item = InputOf<typeof operation>['items'][number];

type BatchContext = Circumstances & {
  readonly of: string;
  readonly groups: ReadonlySet<string>;
  /** The monitors that have these aliases already, by their fingerprints. */
  readonly aliases: ReadonlyMap<string, string>;
  /** By external id, and by id. */
  readonly existing: ReadonlyMap<string, StoredMonitor>;
  readonly byId: ReadonlyMap<string, StoredMonitor>;
  readonly secretsIn: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly partitionOf: (monitor: string) => number;
};

async function knownFor(
  { sql, organisation, with: { secrets, partitionOf, registries } }: InOrganisation,
  items: readonly Item[],
  named: readonly string[] = [],
): Promise<BatchContext> {
  const { id: of, plan } = organisation;
  const trimmed = items.flatMap(({ external_id }) =>
    external_id === null || external_id.trim() === '' ? [] : [external_id.trim()],
  );
  const wanted = items.flatMap(({ group }) => (group === null ? [] : [group]));
  const called = await monitorsCalled(
    sql,
    of,
    trimmed.filter((text) => text.isWellFormed() && !text.includes('\0')),
  );
  const ids = [...new Set([...called.values(), ...named])];
  const rows = ids.length === 0 ? [] : await monitorsForChange(sql, of, ids);
  const secretsIn = new Map<string, Readonly<Record<string, string>>>();
  // After the first, the keys are cached.
  for (const row of rows)
    secretsIn.set(row.id, await openSecrets(secrets, sql, row.id, row.secrets));
  return {
    of,
    plan,
    partitionOf,
    secretsIn,
    checkers: await checkersOf(sql, of),
    registries: await registries(sql),
    groups: await groupsAmong(sql, of, wanted),
    aliases: await aliasOwners(
      sql,
      of,
      items.flatMap(({ type, config }) =>
        type === 'heartbeat' && typeof config?.ping_alias === 'string' ? [config.ping_alias] : [],
      ),
    ),
    existing: new Map(
      rows.flatMap((row) => (row.external_id === null ? [] : [[row.external_id, row] as const])),
    ),
    byId: new Map(rows.map((row) => [row.id, row])),
  };
}

/** An item with the monitor that it changes, if there is one, and what it changes of it. */
type Asked = {
  readonly item: Item;
  readonly enabled: boolean;
  readonly before: StoredMonitor | undefined;
  readonly patch: MonitorPatch;
};

/**
 * A monitor as it will be, and what else follows from that. Its secrets are encrypted when it is
 * written.
 */
type Planned = {
  readonly result: 'created' | 'changed' | 'unchanged';
  readonly row: Omit<WrittenMonitor, 'secrets'>;
  readonly moved: boolean;
  readonly changes: readonly Pick<MonitorChange, 'change' | 'what_is_checked_changed'>[];
  readonly noted: { readonly before?: Noted; readonly after: Noted };
};

type Judged = Planned | Refusal;

/** Judges each item by itself, as if those before it existed already. */
function judgeAll(
  asked: readonly Asked[],
  known: BatchContext,
  present: number,
): readonly Judged[] {
  const called = new Set<string>();
  const aliases = new Map(known.aliases);
  let count = present;
  return asked.map(({ item, enabled, before, patch }) => {
    try {
      const { external_id } = labelsFrom(item);
      const other = external_id === null ? undefined : known.existing.get(external_id);
      if (external_id !== null && called.has(external_id))
        throw new Refusal('external_id_taken', {
          external_id: `"${external_id}" stands twice in this batch; send each once.`,
        });
      if (other !== undefined && other.id !== before?.id)
        throw new Refusal('external_id_taken', {
          external_id: `another monitor is "${external_id}" already; choose another one.`,
        });
      if (item.group !== null && !known.groups.has(item.group)) throw notFound('group_not_found');
      if (before && before.type !== item.type) throw typeDiffers(before);
      const planned = before ? planChange(before, patch, known) : planNew(item, enabled, known);
      const { ping_alias } = planned.row.monitor.secrets;
      if (ping_alias !== undefined) {
        const key = aliasFingerprint(ping_alias);
        if ((aliases.get(key) ?? planned.row.id) !== planned.row.id) throw aliasTaken();
        aliases.set(key, planned.row.id);
      }
      if (!before) {
        enforceLimit('monitors', known.plan, count);
        count += 1;
      }
      if (external_id !== null) called.add(external_id);
      return planned;
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  });
}

function planChange(before: StoredMonitor, patch: MonitorPatch, known: BatchContext): Planned {
  const was = monitorFrom(before, known.of, known.secretsIn.get(before.id) ?? {});
  const { monitor, edited, what_is_checked_changed, moved, switched } = amendMonitor(
    was,
    patch,
    known,
  );
  const { id, partition } = before;
  const row = { id, partition, monitor };
  const others = sameJson(was.secrets, monitor.secrets) ? {} : { secrets: 'others' };
  return {
    result: isDeepStrictEqual(was, monitor) ? 'unchanged' : 'changed',
    row,
    moved,
    changes: [
      ...(edited ? [{ change: 'edited' as const, what_is_checked_changed }] : []),
      ...(switched ? [{ change: switched, what_is_checked_changed: false }] : []),
    ],
    noted: { before: noted({ monitor: was }), after: { ...noted(row), ...others } },
  };
}

function noted({ monitor }: Pick<WrittenMonitor, 'monitor'>): Noted {
  const { organisation: _, secrets: _secrets, places: _places, config_version: _version } = monitor;
  const { kind: type, name, target, interval_s, enabled, config, group, ...labels } = monitor;
  const { affects_group_status, external_id, tags } = labels;
  return {
    type,
    name,
    target,
    interval_s,
    enabled,
    config,
    group,
    affects_group_status,
    external_id,
    tags,
  };
}

function planNew(item: Item, enabled: boolean, known: BatchContext): Planned {
  const id = newId();
  const monitor = { ...draftMonitor(item, known.of, known), enabled };
  const row = { id, partition: known.partitionOf(id), monitor };
  return {
    result: 'created',
    row,
    moved: monitor.group !== null,
    changes: [{ change: 'created', what_is_checked_changed: false }],
    noted: { after: noted(row) },
  };
}

async function write(
  { sql, organisation, with: { secrets } }: InOrganisation,
  planned: readonly Planned[],
): Promise<void> {
  const { id: of } = organisation;
  const seal = await secrets.sealer(sql);
  const rowsOf = (result: Planned['result']): WrittenMonitor[] =>
    planned.flatMap((each) => {
      const own = each.row.monitor.secrets;
      const box =
        Object.keys(own).length === 0 ? null : seal(JSON.stringify(own), secretsOf(each.row.id));
      return each.result === result ? [{ ...each.row, secrets: box }] : [];
    });
  await insertMonitors(sql, of, rowsOf('created'));
  await updateMonitors(sql, of, rowsOf('changed'));
  await writeMemberships(
    sql,
    of,
    planned.flatMap(({ moved, row }) =>
      moved ? [{ monitor: row.id, group: row.monitor.group }] : [],
    ),
  );
  const beating = planned.filter(
    ({ result, row }) => result === 'created' && row.monitor.kind === 'heartbeat',
  );
  await insertPingTokens(
    sql,
    of,
    beating.map(({ row: { id } }) => {
      const token = newPingToken();
      return {
        fingerprint: pingFingerprint(token),
        monitor: id,
        box: seal(token, pingTokenOf(id)),
      };
    }),
  );
  await enqueueAll(
    sql,
    planned.flatMap(({ changes, row: { id, partition } }) =>
      changes.map((change) => ({
        topic: 'monitor' as const,
        partition,
        organisation: of,
        payload: { monitor: id, ...change },
      })),
    ),
  );
}

/**
 * Makes monitors exactly what is sent, each field of them, as far as they are not refused. One that
 * is so already is left alone.
 */
export const putMonitors = handle(contract.putMonitors)(async (context, { items }) => {
  const named = items.flatMap(({ id }) => (id === null ? [] : [id]));
  const known = await knownFor(context, items, named);
  const judged = judgeAll(
    items.map(({ id, enabled, ...item }) => ({
      item,
      enabled,
      before: id === null ? undefined : orNotFound(known.byId.get(id), 'monitor_not_found'),
      patch: {
        name: item.name,
        target: item.target,
        interval_s:
          item.interval_s ??
          Math.max(usualIntervals[kindFrom(item.type)], plans[known.plan].min_interval_s),
        config: item.config ?? {},
        enabled,
        group: item.group,
        ungroup: item.group === null,
        affects_group_status: item.affects_group_status ?? true,
        external_id: item.external_id ?? '',
        tags: item.tags ?? [],
      },
    })),
    known,
    await countMonitors(context.sql, context.organisation.id),
  );
  const planned = judged.flatMap((each) => (each instanceof Refusal ? [] : [each]));
  const changed = planned.filter(({ result }) => result !== 'unchanged');
  if (changed.length > 0) await write(context, changed);
  context.note({
    before: {},
    after:
      changed.length === 0
        ? {}
        : {
            monitors: changed.map(({ result, row: { id, monitor } }) => ({
              id,
              name: monitor.name,
              result,
            })),
          },
  });
  return {
    items: judged.map((each) =>
      each instanceof Refusal
        ? {
            result: 'refused',
            id: null,
            before: null,
            after: null,
            error: { code: each.code, message: each.message },
          }
        : {
            result: each.result,
            id: each.row.id,
            before: each.noted.before ?? null,
            after: each.noted.after,
            error: null,
          },
    ),
  };
});
