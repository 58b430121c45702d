import type { InputOf, OutputOf } from '../../shared/api/operation.ts';
import { causeSentence } from '../../shared/checks/causes.ts';
import { barsOf, windowOf } from '../core/uptime.ts';
import { type InOrganisation, notFound, type OperationResult } from '../gate/context.ts';
import { groupStatus } from '../groups/model.ts';
import { groupsAmong } from '../groups/queries.ts';
import type * as contract from './contract.ts';
import { dashboardRows as rowsOfPage } from './contract.ts';
import {
  countMatching,
  type DashboardRow,
  dashboardPage,
  dashboardProbes,
  dashboardRows,
  type GroupWithStatus,
  groupsWithStatus,
  newestChange,
  openIncidents,
  troubledNames,
} from './dashboard-queries.ts';
import { monitorsAtOnce, notifyOwners, regroupMonitors, switchMonitors } from './queries.ts';
import { listedJson } from './row.ts';
import { type MonitorHistory, statusOf, stretchesOf, uptimeOf } from './status.ts';
import {
  countStatuses,
  coveredNow,
  monitorHistories,
  type StatusCounts,
} from './status-queries.ts';

/**
 * Changes all or none. A monitor that already has the wanted state stays as it is, and its owner is
 * not notified.
 */
export const changeMonitors = async (
  { sql, organisation, note }: InOrganisation,
  { monitors, change, group }: InputOf<typeof contract.changeMonitors>,
): OperationResult<OutputOf<typeof contract.changeMonitors>> => {
  const wanted = new Set(monitors);
  const found = await monitorsAtOnce(sql, organisation.id, [...wanted]);
  if (found.length < wanted.size) throw notFound('monitor_not_found');
  if (change === 'group') {
    if (group !== null && !(await groupsAmong(sql, organisation.id, [group])).has(group))
      throw notFound('group_not_found');
    const moved = found.filter(({ group_id }) => group_id !== group);
    const ids = moved.map(({ id }) => id);
    if (ids.length > 0) await regroupMonitors(sql, organisation.id, ids, group);
    note({
      before: { groups: moved.map(({ id, group_id }) => ({ monitor: id, group: group_id })) },
      after: { group },
    });
    return { changed: moved.length };
  }
  const enabled = change === 'resume';
  const switched = found.filter((monitor) => monitor.enabled !== enabled);
  const ids = switched.map(({ id }) => id);
  if (ids.length > 0) {
    await switchMonitors(sql, ids, enabled);
    await notifyOwners(sql, organisation.id, switched, enabled ? 'resumed' : 'paused');
  }
  note({ before: { enabled: !enabled, monitors: ids }, after: { enabled, monitors: ids } });
  return { changed: switched.length };
};

export const countOpenIncidents = async ({
  sql,
  organisation,
}: InOrganisation): OperationResult<OutputOf<typeof contract.countOpenIncidents>> => ({
  open: await openIncidents(sql, organisation.id),
});

const uptimeDays = 30;
const bars = 48;
const maxNames = 3;

type Out = OutputOf<typeof contract.listDashboard>;

const latestOf = (values: readonly (number | null)[]): number | null =>
  values.findLast((value) => value !== null) ?? null;

const iso = (at: number): string => new Date(at).toISOString();

const rowJson = (row: DashboardRow, history: MonitorHistory, now: number): Out['items'][number] => {
  const { status, since, last_checked_at } = statusOf(history, now);
  const cover = history.cover.find(({ from, to }) => from <= now && now < to);
  const isCovered = cover !== undefined && status !== 'paused';
  const verifying =
    history.incident && history.incident.confirmed_at === null ? history.incident.started_at : null;
  const day = windowOf(1, now);
  const response = row.hours ?? row.looks ?? [];
  return {
    ...listedJson(row),
    status: isCovered ? 'maintenance' : status,
    since: iso(isCovered ? cover.from : since),
    cause: row.cause === null ? null : causeSentence(row.cause),
    incident: row.incident,
    seen_from: row.seen_continent,
    covered_until: isCovered ? iso(cover.to) : null,
    bars: barsOf(stretchesOf(history, day), day, bars, verifying),
    response,
    response_ms: latestOf(response),
    percent: uptimeOf(history, windowOf(uptimeDays, now)).percent,
    last_checked_at: last_checked_at === null ? null : iso(last_checked_at),
  };
};

const groupsJson = (
  rows: readonly DashboardRow[],
  standings: readonly GroupWithStatus[],
): Out['groups'] => {
  const names = new Map(
    rows.flatMap(({ group_id, group_name }) =>
      group_id === null ? [] : [[group_id, group_name ?? '']],
    ),
  );
  return [...names].map(([id, name]) => {
    const own = standings.find((standing) => standing.id === id);
    return { id, name, status: groupStatus(own?.members ?? []), monitors: own?.count ?? 0 };
  });
};

const countsJson = (counts: StatusCounts): Out['counts'] => {
  const { down = 0, verifying = 0, up = 0, maintenance = 0, pending = 0, paused = 0 } = counts;
  return {
    all: down + verifying + up + maintenance + pending + paused,
    down,
    verifying,
    up,
    maintenance,
    pending,
    paused,
  };
};

/**
 * Counted, filtered and sorted by the status that the database keeps of each monitor; what a row
 * shows comes from its history, as on all pages.
 */
export const listDashboard = async (
  { sql, organisation, now }: InOrganisation,
  { status, q, group, tag, sort, page }: InputOf<typeof contract.listDashboard>,
): OperationResult<Out> => {
  const of = organisation.id;
  const window = windowOf(uptimeDays, now);
  const covered = await coveredNow(sql, of, now);
  const filter = { status, search: q, group, tag: tag?.trim().toLowerCase() ?? null };
  const isFiltered = status !== null || q.trim() !== '' || group !== null || tag !== null;
  const place = { sort, offset: (page - 1) * rowsOfPage, most: rowsOfPage, since: window.from };
  const looked = dashboardPage(sql, of, filter, covered, place).then(async (found) => {
    const ids = found.map(({ id }) => id);
    const groups = [...new Set(found.flatMap(({ group: own }) => (own === null ? [] : [own])))];
    const [rows, histories, standings] = await Promise.all([
      dashboardRows(sql, of, ids, now),
      monitorHistories(sql, of, ids, window),
      groupsWithStatus(sql, of, groups),
    ]);
    return { ids, rows, histories, standings };
  });
  const [counts, matching, down, verifying, changed, probes, { ids, rows, histories, standings }] =
    await Promise.all([
      countStatuses(sql, of, covered).then(countsJson),
      isFiltered ? countMatching(sql, of, filter, covered) : null,
      troubledNames(sql, of, 'down', covered, maxNames),
      troubledNames(sql, of, 'verifying', covered, maxNames),
      newestChange(sql, of),
      dashboardProbes(sql, of),
      looked,
    ]);
  const [rowById, historyById] = [
    new Map(rows.map((row) => [row.id, row])),
    new Map(histories.map((each) => [each.id, each])),
  ];
  const items = ids.flatMap((id) => {
    const [row, history] = [rowById.get(id), historyById.get(id)];
    // Deleted between the two queries.
    return row && history ? [rowJson(row, history, now)] : [];
  });
  const changed_at = changed?.toISOString() ?? null;
  return {
    counts,
    down,
    verifying,
    changed_at,
    matching: matching ?? counts.all,
    items,
    groups: groupsJson(rows, standings),
    probes,
  };
};
