import * as api from '../../shared/api/objectives.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { handle } from '../gate/bind.ts';
import type { InOrganisation } from '../gate/context.ts';
import { notFound, orNotFound } from '../gate/context.ts';
import { beforeAll, pageOf } from '../gate/cursors.ts';
import { enforceLimit } from '../gate/plans.ts';
import { tagsFrom } from '../monitors/model.ts';
import { monitorHistories } from '../monitors/status-queries.ts';
import { selectedNames } from '../reports/queries.ts';
import { burnAt, courseOf, earliestOf, spanOf, targetFrom } from './model.ts';
import {
  countObjectives,
  insertObjective,
  type ObjectiveRow,
  objectiveById,
  objectivePage,
  removeObjective,
  updateObjective as write,
} from './queries.ts';
import { figuresOf, type LedgerRead, readLedger } from './reading.ts';

type Reading = Pick<InOrganisation, 'sql' | 'organisation' | 'now' | 'with'>;

export const listObjectives = handle(api.listObjectives)(async (context, input) => {
  const { sql, organisation, with: dependencies } = context;
  const { items, next_cursor } = await pageOf(
    dependencies.cursors,
    ['objectives', organisation.id],
    input,
    (from, limit) => objectivePage(sql, organisation.id, from ?? beforeAll, limit),
    (row) => row,
  );
  const read = await readLedgerOf(context, items);
  return { items: items.map((row) => objectiveJson(row, read)), next_cursor };
});

export const getObjective = handle(api.getObjective)(async (context, { objective_id: id }) => {
  const row = await existing(context, id);
  const read = await readLedgerOf(context, [row]);
  const { whole } = figuresOf(row, read);
  const ledger = read.ledgerOf(row);
  const span = { ...spanOf(row.period, read.zone, read.now), to: read.now };
  const course = whole === null ? [] : courseOf(row.monitors, ledger, span, whole);
  return {
    ...objectiveJson(row, read),
    course: course.map(({ at, left }) => ({
      at: new Date(at).toISOString(),
      ...leftOf(row, left),
    })),
  };
});

export const createObjective = handle(api.createObjective)(async (context, input) => {
  const { sql, organisation, now, note } = context;
  const name = nameFrom(input.name);
  const target = targetFrom(input.target);
  const { monitor, group, period, on_status_pages } = input;
  const latency_ms = limitFrom(input.latency_ms);
  const [tag = null] = input.tag === null ? [] : tagsFrom([input.tag]);
  const named = await selectedNames(sql, organisation.id, { ...input, status_page: null });
  if (monitor !== null && named.monitors.length === 0) throw notFound('monitor_not_found');
  if (group !== null && named.group === null) throw notFound('group_not_found');
  enforceLimit('objectives', organisation.plan, await countObjectives(sql, organisation.id));
  const what = { name, monitor, group, tag, target, latency_ms, period, on_status_pages };
  const made = { id: newId(), ...what };
  await insertObjective(sql, organisation.id, made, now);
  note({ after: made });
  return answered(context, made.id);
});

export const updateObjective = handle(api.updateObjective)(async (context, input) => {
  const { sql, organisation, note } = context;
  const before = await existing(context, input.objective_id);
  const after = {
    name: input.name === null ? before.name : nameFrom(input.name),
    target: input.target === null ? before.target : targetFrom(input.target),
    period: input.period ?? before.period,
    on_status_pages: input.on_status_pages ?? before.on_status_pages,
  };
  await write(sql, organisation.id, { id: before.id, ...after });
  const { name, target, period, on_status_pages } = before;
  note({ before: { name, target, period, on_status_pages }, after });
  return answered(context, before.id);
});

/** A warning that lasts ends within a minute (rule 52). */
export const deleteObjective = handle(api.deleteObjective)(
  async (context, { objective_id: id }) => {
    const { name, target, latency_ms, period } = await existing(context, id);
    await removeObjective(context.sql, context.organisation.id, id);
    context.note({ before: { name, target, latency_ms, period } });
  },
);

/** @throws Refusal `objective_invalid`. */
function limitFrom(latency_ms: number | null): number | null {
  if (latency_ms === null || (latency_ms >= 1 && latency_ms <= 120_000)) return latency_ms;
  throw new Refusal('objective_invalid', { latency_ms: 'must be from 1 to 120000.' });
}

async function existing(
  { sql, organisation }: Pick<Reading, 'sql' | 'organisation'>,
  id: string,
): Promise<ObjectiveRow> {
  return orNotFound(await objectiveById(sql, organisation.id, id), 'objective_not_found');
}

async function answered(context: Reading, id: string) {
  const row = await existing(context, id);
  return objectiveJson(row, await readLedgerOf(context, [row]));
}

async function readLedgerOf(
  { sql, organisation, now, with: { results } }: Reading,
  rows: readonly ObjectiveRow[],
): Promise<LedgerRead> {
  const zone = organisation.time_zone;
  const others = rows.filter(({ latency_ms }) => latency_ms === null);
  const monitors = [...new Set(others.flatMap((row) => row.monitors))];
  const window = { from: earliestOf(zone, now), to: now };
  const histories = await monitorHistories(sql, results, organisation.id, monitors, window);
  return readLedger(sql, results, { zone, now }, rows, histories);
}

function leftOf({ latency_ms }: ObjectiveRow, left: number | null) {
  const isTimed = latency_ms !== null;
  return {
    left_seconds: left === null || isTimed ? null : left / 1_000,
    left_checks: isTimed ? left : null,
  };
}

function objectiveJson(row: ObjectiveRow, read: LedgerRead) {
  const { from, to, percent, whole, left } = figuresOf(row, read);
  const { tag } = row;
  const parts = [row.group_name, tag === null ? null : `tag ${tag}`, row.monitor_name];
  return {
    ...row,
    of: parts.filter((part) => part !== null).join(', ') || 'All monitors',
    from,
    to,
    monitors: row.monitors.length,
    percent,
    budget_seconds: leftOf(row, whole).left_seconds,
    budget_left_seconds: leftOf(row, left).left_seconds,
    budget_checks: leftOf(row, whole).left_checks,
    budget_left_checks: leftOf(row, left).left_checks,
    burn: burnAt(row, row.monitors, read.ledgerOf(row), read.now),
  };
}
