import type { InputOf } from '../../shared/api/operation.ts';
import { causeSentence } from '../../shared/checks/causes.ts';
import { causeName } from '../causes/model.ts';
import { barsOf, windowOf } from '../core/uptime.ts';
import type { AnswerOf } from '../gate/answer.ts';
import { handle } from '../gate/bind.ts';
import { groupStatus } from '../groups/model.ts';
import { warningJson } from '../warnings/model.ts';
import * as contract from './contract.ts';
import {
  allFacets,
  type DashboardFigures,
  type DashboardFilter,
  type DashboardRow,
  dashboardFigures,
  dashboardPage,
  dashboardRows,
  facetsOf,
  type GroupWithStatus,
  groupsWithStatus,
  isFiltered,
} from './dashboard-queries.ts';
import { listedJson } from './row.ts';
import { flappingNow, type MonitorHistory, percentShown, statusOf, stretchesOf } from './status.ts';
import { coveredNow, monitorHistories } from './status-queries.ts';

const uptimeDays = 30;

/** As many as a strip above the list has room for; more groups are reached by a monitor's form. */
const most = { failing: 12, groups: 100, probes: 24 } as const;

type Out = AnswerOf<typeof contract.listDashboard>;

/**
 * Counted, filtered and sorted by the status that the database keeps of each monitor; what a row
 * shows comes from its history, as on all pages.
 */
export const listDashboard = handle(contract.listDashboard)(
  async ({ sql, organisation, now, with: { results } }, { sort, page, ...asked }) => {
    const of = organisation.id;
    const window = windowOf(uptimeDays, now);
    const filter = filterOf(asked);
    const place = {
      sort,
      offset: (page - 1) * contract.dashboardRows,
      most: contract.dashboardRows,
      since: window.from,
    };
    // Which monitors are on the page depends on what is covered only when a status is asked for.
    const cover = coveredNow(sql, of, now);
    const looked = (filter.status === null ? Promise.resolve([]) : cover)
      .then((covered) => dashboardPage(sql, of, filter, covered, place))
      .then(async (found) => {
        const ids = found.map(({ id }) => id);
        const groups = [...new Set(found.flatMap(({ group: own }) => (own === null ? [] : [own])))];
        const [rows, histories, standings] = await Promise.all([
          dashboardRows(sql, results, of, found, now),
          monitorHistories(sql, results, of, ids, window),
          cover.then((covered) => groupsWithStatus(sql, of, groups, covered)),
        ]);
        return { ids, rows, histories, standings };
      });
    const [figures, { ids, rows, histories, standings }] = await Promise.all([
      cover.then((covered) => dashboardFigures(sql, of, filter, covered, most)),
      looked,
    ]);
    const counts = countsJson(figures);
    const [rowById, historyById] = [
      new Map(rows.map((row) => [row.id, row])),
      new Map(histories.map((each) => [each.id, each])),
    ];
    const items = ids.flatMap((id) => {
      const [row, history] = [rowById.get(id), historyById.get(id)];
      // Deleted between the two queries.
      return row && history ? [rowJson(row, history, now)] : [];
    });
    return {
      counts,
      causes: figures.causes.map(({ id, down, since, ...cause }) => ({
        ...{ id, name: causeName(cause), down, since },
      })),
      failing: figures.failing.map(({ cause, witnesses, ...each }) => ({
        ...each,
        witnesses: [...witnesses],
        cause: cause === null ? null : causeSentence(cause),
      })),
      others: {
        down: figures.in_trouble.down - counts.down,
        verifying: figures.in_trouble.verifying - counts.verifying,
      },
      matching:
        filter.warning !== null
          ? counts.warned
          : filter.status === null
            ? counts.all
            : counts[filter.status],
      items,
      groups: groupsJson(rows, standings),
      group_choices: [...figures.groups],
      probes: [...figures.probes],
    };
  },
);

function filterOf({
  status,
  kind,
  q,
  group,
  tag,
  warning,
}: InputOf<typeof contract.listFilters>): DashboardFilter {
  return {
    status,
    kind,
    search: q,
    group,
    tags: contract.tagsIn(tag ?? ''),
    warning,
  };
}

function countsJson({ counts, warned }: DashboardFigures): Out['counts'] {
  const { down = 0, verifying = 0, up = 0, maintenance = 0, pending = 0, paused = 0 } = counts;
  return {
    all: down + verifying + up + maintenance + pending + paused,
    down,
    verifying,
    up,
    maintenance,
    pending,
    paused,
    warned,
  };
}

const bars = 24;

function rowJson(row: DashboardRow, history: MonitorHistory, now: number): Out['items'][number] {
  const { status, since, last_checked_at } = statusOf(history, now);
  const cover = history.cover.find(({ from, to }) => from <= now && now < to);
  const isCovered = cover !== undefined && status !== 'paused';
  const verifying =
    history.incident && history.incident.confirmed_at === null ? history.incident.started_at : null;
  // As at its incident: an outage has lasted since it began, not since it was confirmed.
  const began = status === 'down' ? (history.incident?.started_at ?? since) : since;
  const day = windowOf(1, now);
  const stretches = stretchesOf(history, day);
  const response = row.hours ?? row.looks ?? [];
  return {
    ...listedJson(row),
    status: isCovered ? 'maintenance' : status,
    since: isCovered ? cover.from : began,
    cause: row.cause === null ? null : causeSentence(row.cause),
    incident: row.incident,
    covered_until: isCovered ? cover.to : null,
    bars: barsOf(stretches, day, bars, verifying),
    downs: stretches.flatMap(({ state, from, to }) => (state === 'down' ? [{ from, to }] : [])),
    response,
    response_ms: latestOf(response),
    percent: percentShown(history, windowOf(uptimeDays, now)),
    last_checked_at,
    flapping: flappingJson(row, now),
    muted: row.muted && {
      ...row.muted,
      until: row.muted.until,
    },
    owner:
      row.acknowledged_as === null || row.acknowledged_at === null
        ? null
        : { name: row.acknowledged_as, since: row.acknowledged_at },
    inside: row.inside,
    warnings: (row.warnings ?? []).map((warning) => warningJson(warning, now)),
  };
}

function latestOf(values: readonly (number | null)[]): number | null {
  return values.findLast((value) => value !== null) ?? null;
}

function flappingJson({ outages }: DashboardRow, now: number) {
  return flappingNow(outages ?? [], now);
}

function groupsJson(
  rows: readonly DashboardRow[],
  standings: readonly GroupWithStatus[],
): Out['groups'] {
  const names = new Map(
    rows.flatMap(({ group_id, group_name }) =>
      group_id === null ? [] : [[group_id, group_name ?? '']],
    ),
  );
  return [...names].map(([id, name]) => {
    const own = standings.find((standing) => standing.id === id);
    const { count = 0, failing = 0 } = own ?? {};
    return { id, name, status: groupStatus(own?.members ?? []), monitors: count, failing };
  });
}

export const listFilters = handle(contract.listFilters)(
  async ({ sql, organisation, now }, input) => {
    const filter = filterOf(input);
    const items = isFiltered(filter)
      ? await facetsOf(sql, organisation.id, filter, await coveredNow(sql, organisation.id, now))
      : await allFacets(sql, organisation.id);
    return { items };
  },
);
