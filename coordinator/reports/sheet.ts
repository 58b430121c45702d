import type { Moment } from '../../shared/api/moment.ts';
import type { InputOf } from '../../shared/api/operation.ts';
import type { getUptimeReport } from '../../shared/api/reports.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { causeSentence } from '../../shared/checks/causes.ts';
import type { Queryable } from '../database/connect.ts';
import type { AnswerOf } from '../gate/answer.ts';
import { notFound } from '../gate/context.ts';
import { epochOf, timeZoneFrom } from '../maintenance/zones.ts';
import { monitorHistories } from '../monitors/status-queries.ts';
import { summariesOf, tenthsOf } from '../results/days.ts';
import type { Results } from '../results/reading.ts';
import { emptySummary, mergeSummary, percentileOf, type Summary } from '../results/summary.ts';
import { added, budgetLeftIn, outagesIn, percentIn, type Sums, sumsOf } from './model.ts';
import { endedBy, type Period, periodNamed } from './period.ts';
import {
  idsIn,
  incidentCauses,
  reportedMonitors,
  type Selection,
  selectedNames,
} from './queries.ts';

const maxMonitors = 1_000;
const maxIncidents = 1_000;
const maxWorst = 10;

export type ReportInput = InputOf<typeof getUptimeReport>;

/** Whose report, as of when. */
export type ReportOf = {
  readonly sql: Queryable;
  readonly results: Results;
  readonly organisation: { readonly id: string; readonly time_zone: string };
  readonly now: number;
};

/** All sums are of one reading of the ledger. */
export async function reportOf(
  { sql, results, organisation, now }: ReportOf,
  input: ReportInput,
): Promise<AnswerOf<typeof getUptimeReport>> {
  const zone = input.time_zone === null ? organisation.time_zone : timeZoneFrom(input.time_zone);
  const { promised } = input;
  if (promised !== null && !(promised > 0 && promised <= 100))
    throw new Refusal('promise_invalid', {
      promised: 'must be above 0 and at most 100, such as 99.9.',
    });
  const period = periodFrom(input, zone, now);
  const title = await titleOf(sql, organisation.id, input);
  const monitors = await reportedMonitors(sql, organisation.id, input, maxMonitors + 1);
  if (monitors.length > maxMonitors)
    throw new Refusal(
      'report_too_large',
      `A report is of at most ${maxMonitors} monitors; name a group, a tag or a status page.`,
    );
  const ids = monitors.map(({ id }) => id);
  const [histories, summaries] = await Promise.all([
    monitorHistories(sql, results, organisation.id, ids, {
      from: period.from,
      to: now,
    }),
    summariesOf(sql, results, monitors, period),
  ]);
  const names = new Map(monitors.map(({ id, name }) => [id, name]));
  const outages = histories
    .flatMap((history) => outagesIn(history, period, input))
    .toSorted((a, b) => b.started_at - a.started_at);
  const listed = outages.slice(0, maxIncidents);
  const causes = new Map(
    (
      await incidentCauses(
        sql,
        organisation.id,
        listed.map(({ incident }) => incident),
      )
    ).map((row) => [row.id, row]),
  );
  const incidentsOf = Map.groupBy(outages, ({ monitor }) => monitor);
  const historyOf = new Map(histories.map((history) => [history.id, history]));
  const lines = monitors.flatMap(({ id, key, name }) => {
    const history = historyOf.get(id);
    if (!history) return [];
    const sums = sumsOf(history, period, input);
    const summary = summaries.get(key) ?? emptySummary();
    const incidents = incidentsOf.get(id)?.length ?? 0;
    return [{ monitor: id, name, sums, summary, incidents }];
  });
  const whole = emptySummary();
  for (const { summary } of lines) mergeSummary(whole, summary);
  return {
    title,
    period: period.name,
    from: period.from,
    to: period.to,
    time_zone: zone,
    maintenance: input.maintenance,
    unknown: input.unknown,
    promised,
    total: figuresOf(added(lines.map(({ sums }) => sums)), outages.length, whole, promised),
    monitors: lines.map(({ monitor, name, sums, incidents, summary }) => ({
      monitor,
      name,
      ...figuresOf(sums, incidents, summary, promised),
    })),
    worst: lines
      .filter(({ sums }) => sums.countedDown > 0)
      .toSorted((a, b) => b.sums.countedDown - a.sums.countedDown)
      .slice(0, maxWorst)
      .map(({ monitor }) => monitor),
    incidents: listed.map(({ incident, monitor, started_at, down }) => {
      const { cause = null, resolved_at = null } = causes.get(incident) ?? {};
      return {
        incident,
        monitor,
        name: names.get(monitor) ?? '',
        cause: cause === null ? null : causeSentence(cause),
        started_at,
        resolved_at,
        down_seconds: down / 1_000,
      };
    }),
    left_out: outages.length - listed.length,
  };
}

function periodFrom({ period, from, to }: ReportInput, zone: string, now: number): Period {
  if (from === null && to === null)
    return endedBy(periodNamed(period ?? 'last-month', zone, now), now);
  if (from === null || period !== null)
    throw new Refusal('period_invalid', {
      from: 'must be given with to, and without period.',
    });
  const at = (moment: Moment): number => epochOf(moment, zone);
  return endedBy({ name: null, from: at(from), to: to === null ? now : at(to) }, now);
}

async function titleOf(sql: Queryable, organisation: string, input: Selection): Promise<string> {
  const { monitors, group, page } = await selectedNames(sql, organisation, input);
  const [monitor = null, ...more] = monitors;
  if (input.monitor !== null && monitors.length < idsIn(input.monitor).length)
    throw notFound('monitor_not_found');
  if (input.group !== null && group === null) throw notFound('group_not_found');
  if (input.status_page !== null && page === null) throw notFound('status_page_not_found');
  const { tag } = input;
  const parts = [
    page,
    group,
    tag === null ? null : `tag ${tag}`,
    more.length > 0 ? `${monitors.length} monitors` : monitor,
  ];
  return parts.filter((part) => part !== null).join(', ') || 'All monitors';
}

function figuresOf(sums: Sums, incidents: number, summary: Summary, promised: number | null) {
  const left = promised === null ? null : budgetLeftIn(sums, promised);
  const [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map((share) =>
    tenthsOf(percentileOf(summary, share)),
  );
  return {
    percent: percentIn(sums),
    up_seconds: sums.up / 1_000,
    down_seconds: sums.down / 1_000,
    maintenance_seconds: sums.maintenance / 1_000,
    unknown_seconds: sums.unknown / 1_000,
    paused_seconds: sums.paused / 1_000,
    counted_up_seconds: sums.countedUp / 1_000,
    counted_down_seconds: sums.countedDown / 1_000,
    kept: left === null ? null : left >= 0,
    budget_left_seconds: left === null ? null : left / 1_000,
    incidents,
    response:
      p50_ms == null || p95_ms == null || p99_ms == null ? null : { p50_ms, p95_ms, p99_ms },
  };
}
