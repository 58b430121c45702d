import { type Interval, length, subtract, union } from '../../shared/base/time.ts';
import { type MonitorHistory, statusOf, stretchesOf, uptimeOf } from './monitor-history.ts';
import {
  daysOf,
  daysUntil,
  type PublicIncident,
  type PublicMaintenance,
  type PublicMonitor,
  type PublicRow,
  type PublicState,
  pageDays,
} from './public-page.ts';
import { windowOf } from './uptime.ts';

/** From what the database has of published monitors to what the world is shown of them. */

export type Named = { readonly kind: 'group' | 'monitor'; readonly id: string; readonly name: string; readonly under: string | null };

/** History from here back is what the figures need: the first day may have begun up to a day before the window of ninety. */
export const figuresWindow = (now: number): Interval => windowOf(pageDays + 2, now);

const stateOf = (history: MonitorHistory, now: number): PublicState => {
  if (history.paused_at !== null) return 'paused';
  if (history.cover.some(({ from, to }) => from <= now && now < to)) return 'maintenance';
  // What is not confirmed is nothing that the world is told.
  const incident = history.incident?.confirmed_at == null ? null : history.incident;
  const { status } = statusOf({ ...history, incident }, now);
  return status === 'verifying' ? 'up' : status;
};

type Figures = {
  readonly now: number;
  readonly zone: string;
  readonly rows: readonly Named[];
  /** Of monitors: what the world calls them on this page. */
  readonly publicIds: ReadonlyMap<string, string>;
  readonly histories: readonly MonitorHistory[];
  readonly responses: ReadonlyMap<string, number>;
};

export const publicRows = ({ now, zone, rows, publicIds, histories, responses }: Figures): readonly PublicRow[] => {
  const begins = daysUntil(now, zone, pageDays);
  const window = { from: begins[0] ?? now, to: now };
  const byId = new Map(histories.map((history) => [history.id, history]));
  const monitor = (id: string, { name, under }: Named, history: MonitorHistory): PublicMonitor => {
    const percent = (days: number): number | null => uptimeOf(history, windowOf(days, now)).percent;
    return {
      ...{ kind: 'monitor', id, name, isUnder: under !== null, state: stateOf(history, now) },
      days: daysOf(stretchesOf(history, window), begins, now),
      percent: { 7: percent(7), 30: percent(30), 90: percent(90) },
      responseMs: responses.get(history.id) ?? null,
    };
  };
  return rows.flatMap((row): PublicRow[] => {
    if (row.kind === 'group') return [{ kind: 'group', name: row.name }];
    const [id, history] = [publicIds.get(row.id), byId.get(row.id)];
    // Deleted between two looks.
    return id === undefined || history === undefined ? [] : [monitor(id, row, history)];
  });
};

export type ConfirmedIncident = {
  readonly id: string;
  readonly monitor: string;
  readonly startedAt: number;
  readonly resolvedAt: number | null;
  readonly posts: PublicIncident['posts'];
};

/** Under the names of the page. What lay in maintenance from end to end counts as no downtime, and is told as none. */
export const publicIncidents = (
  incidents: readonly ConfirmedIncident[],
  {
    names,
    publicIds,
    histories,
    now,
  }: Pick<Figures, 'publicIds' | 'histories' | 'now'> & {
    /** By the ids of monitors. */
    readonly names: ReadonlyMap<string, string>;
  },
): readonly PublicIncident[] => {
  const cover = new Map(histories.map((history) => [history.id, union(history.cover)]));
  return incidents.flatMap(({ monitor, ...incident }) => {
    const [id, name, covered] = [publicIds.get(monitor), names.get(monitor), cover.get(monitor) ?? []];
    const lasted = { from: incident.startedAt, to: incident.resolvedAt ?? now };
    if (id === undefined || name === undefined || (lasted.to > lasted.from && length(subtract([lasted], covered)) === 0)) return [];
    return [{ ...incident, monitors: [id], names: [name] }];
  });
};

export type Occurrence = { readonly id: string; readonly startsAt: number; readonly endsAt: number; readonly monitors: readonly string[] };

export const publicMaintenance = (occurrences: readonly Occurrence[], rows: readonly Named[]): readonly PublicMaintenance[] =>
  occurrences.map(({ monitors, ...occurrence }) => ({
    ...occurrence,
    names: rows.flatMap(({ id, name }) => (monitors.includes(id) ? [name] : [])),
  }));
