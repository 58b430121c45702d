import type { batchMonitors as operation } from '../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { newPingToken, pingFingerprint } from '../../shared/checks/heartbeat/config.ts';
import { enqueueAll, type MonitorChange } from '../database/outbox.ts';
import type { InOrganisation, OperationResult } from '../gate/context.ts';
import { notFound } from '../gate/context.ts';
import { groupsAmong } from '../groups/queries.ts';
import { enforceLimit } from '../organisations/plans.ts';
import { checkersOf } from '../probes/places.ts';
import { pingTokenOf, secretsOf } from '../secrets/at-rest.ts';
import { patchOf, typeDiffers } from './changes.ts';
import { amendMonitor, type Circumstances, draftMonitor, labelsFrom } from './model.ts';
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

type Output = OutputOf<typeof operation>;
type Item = InputOf<typeof operation>['items'][number];

/**
 * A monitor as it will be, and what else follows from that. Its secrets are encrypted when it is
 * written.
 */
type Planned = {
  readonly result: 'created' | 'changed';
  readonly row: Omit<WrittenMonitor, 'secrets'>;
  readonly moved: boolean;
  readonly change: Pick<MonitorChange, 'change' | 'what_is_checked_changed'> | null;
};
type Judged = Planned | Refusal;

type BatchContext = Circumstances & {
  readonly of: string;
  readonly groups: ReadonlySet<string>;
  readonly existing: ReadonlyMap<string, StoredMonitor>;
  readonly secretsIn: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly partitionOf: (monitor: string) => number;
};

const planNew = (item: Item, known: BatchContext): Planned => {
  const id = newId();
  const monitor = draftMonitor(item, known.of, known);
  const row = { id, partition: known.partitionOf(id), monitor };
  return {
    result: 'created',
    row,
    moved: monitor.group !== null,
    change: { change: 'created', what_is_checked_changed: false },
  };
};

const planChange = (item: Item, before: StoredMonitor, known: BatchContext): Planned => {
  if (before.type !== item.type) throw typeDiffers(before);
  const was = monitorFrom(before, known.of, known.secretsIn.get(before.id) ?? {});
  const { monitor, edited, what_is_checked_changed, moved } = amendMonitor(
    was,
    patchOf(item),
    known,
  );
  const { id, partition } = before;
  const row = { id, partition, monitor };
  return {
    result: 'changed',
    row,
    moved,
    change: edited ? { change: 'edited', what_is_checked_changed } : null,
  };
};

/** Judges each item by itself, as if those before it existed already. */
const judgeAll = (
  items: readonly Item[],
  known: BatchContext,
  present: number,
): readonly Judged[] => {
  const called = new Set<string>();
  let count = present;
  return items.map((item) => {
    try {
      const { external_id } = labelsFrom(item);
      if (external_id !== null && called.has(external_id))
        throw new Refusal(
          'external_id_taken',
          `external_id: "${external_id}" stands twice in this batch; send each once.`,
        );
      if (item.group !== null && !known.groups.has(item.group)) throw notFound('group_not_found');
      const before = external_id === null ? undefined : known.existing.get(external_id);
      const planned = before ? planChange(item, before, known) : planNew(item, known);
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
};

const write = async (
  { sql, organisation, with: { secrets } }: InOrganisation,
  planned: readonly Planned[],
): Promise<void> => {
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
    planned.flatMap(({ change, row: { id, partition } }) =>
      change === null
        ? []
        : [
            {
              topic: 'monitor' as const,
              partition,
              organisation: of,
              payload: { monitor: id, ...change },
            },
          ],
    ),
  );
};

const knownFor = async (
  { sql, organisation, with: { secrets, partitionOf, registries } }: InOrganisation,
  items: readonly Item[],
): Promise<BatchContext> => {
  const { id: of, plan } = organisation;
  const trimmed = items.flatMap(({ external_id }) =>
    external_id === null || external_id.trim() === '' ? [] : [external_id.trim()],
  );
  const wanted = items.flatMap(({ group }) => (group === null ? [] : [group]));
  const ids = [
    ...(
      await monitorsCalled(
        sql,
        of,
        trimmed.filter((text) => text.isWellFormed() && !text.includes('\0')),
      )
    ).values(),
  ];
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
    existing: new Map(
      rows.flatMap((row) => (row.external_id === null ? [] : [[row.external_id, row] as const])),
    ),
  };
};

/** Takes a few statements, however many items there are. */
export const batchMonitors = async (
  context: InOrganisation,
  { items, mode }: InputOf<typeof operation>,
): OperationResult<Output> => {
  const judged = judgeAll(
    items,
    await knownFor(context, items),
    await countMonitors(context.sql, context.organisation.id),
  );
  const planned = judged.flatMap((each) => (each instanceof Refusal ? [] : [each]));
  const refused = judged.length - planned.length;
  const applied = mode === 'each' || refused === 0;
  if (applied && planned.length > 0) await write(context, planned);
  const done = applied ? planned : [];
  context.note({
    after: {
      monitors: done.map(({ result, row: { id, monitor } }) => ({
        id,
        name: monitor.name,
        result,
      })),
      refused,
    },
  });
  return {
    applied,
    created: done.filter(({ result }) => result === 'created').length,
    changed: done.filter(({ result }) => result === 'changed').length,
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
        result,
        id: row.id,
        name: row.monitor.name,
        external_id: row.monitor.external_id,
        error: null,
      };
    }),
  };
};
