import { impacts } from '../../../shared/api/status-page-reports.ts';
import { type Interval, length, subtract, union } from '../../../shared/base/time.ts';
import type { Witness } from '../../../shared/checks/result.ts';
import { type Stretch, windowOf } from '../../core/uptime.ts';
import { instantsIn, localOf } from '../../maintenance/zones.ts';
import { type MonitorHistory, percentShown, statusOf, stretchesOf } from '../../monitors/status.ts';
import type { Impact, PageLook, UpdateKind } from '../model.ts';

/**
 * The public view of an organisation: names that were chosen for the public, and nothing that was
 * not published.
 */

/**
 * As the public sees it: an incident that is not confirmed does not count yet, and what people
 * report by hand does.
 */
export type PublicState = 'up' | 'down' | Impact | 'maintenance' | 'paused' | 'pending';

/**
 * A day in the page's time zone: when it begins, and milliseconds of each state. Time when it was
 * paused, or before it was created, counts as none.
 */
export type PublicDay = {
  readonly from: number;
  readonly up: number;
  readonly down: number;
  readonly maintenance: number;
  readonly unknown: number;
};

export const percentDays = [7, 30, 90] as const;
export type PercentDays = (typeof percentDays)[number];

export type PublicMonitor = {
  readonly kind: 'monitor';
  /**
   * The id of this row of this page. The monitor's own id stays private: with it one could address
   * the monitor in the account.
   */
  readonly id: string;
  readonly name: string;
  /** It belongs to the heading before it. */
  readonly isUnder: boolean;
  readonly state: PublicState;
  /** The last ninety, oldest first; the last is today. */
  readonly days: readonly PublicDay[];
  /** As the status operation computes it. */
  readonly percent: Readonly<Record<PercentDays, number | null>>;
  /** Mean of the newest hour that has one. */
  readonly responseMs: number | null;
  /**
   * Since when it is up, but slower than its owner wants (rule 44). The only warning that is
   * public: it is what visitors feel. Certificates, addresses and name servers are the owner's.
   */
  readonly slowSince: number | null;
};

type PublicRow = { readonly kind: 'group'; readonly name: string } | PublicMonitor;

export type PublicPost = { readonly kind: UpdateKind; readonly text: string; readonly at: number };

/** Confirmed by checks, or reported by hand; posts oldest first. */
export type PublicIncident = {
  readonly id: string;
  /** What people wrote above it; null for one that checks confirmed. */
  readonly title: string | null;
  /** Of a report: how much it affects each of the monitors; none for an announcement. */
  readonly impacts: readonly Impact[];
  /** Of a report that is open: when it will end by itself. */
  readonly until: number | null;
  /** Ids of rows. */
  readonly monitors: readonly string[];
  readonly names: readonly string[];
  readonly startedAt: number;
  readonly resolvedAt: number | null;
  readonly posts: readonly PublicPost[];
  /** The continents that see one that is open. */
  readonly witnesses: readonly Witness[];
  /** It and others of the same are told as one; nobody is shown what it is. */
  readonly cause?: string | null;
  /** Those that are told as one. */
  readonly together?: readonly { readonly id: string; readonly name: string }[];
  /** Once it is published. */
  readonly postMortem?: Omit<PublicPost, 'kind'> | null | undefined;
};

/** Running or upcoming. The window's own name was not chosen for the public, so it is not here. */
export type PublicMaintenance = {
  readonly id: string;
  readonly startsAt: number;
  readonly endsAt: number;
  readonly names: readonly string[];
};

/** What is promised of services of the page, and how it stands. */
export type PublicObjective = {
  readonly name: string;
  /** In percent, as what was measured. */
  readonly target: number;
  readonly percent: number | null;
  /** Of response times: the limit. */
  readonly latency_ms: number | null;
  readonly period: '30d' | 'month';
  /** Of the error budget; below 0 it is missed. */
  readonly left: number | null;
};

export type PublicPage = PageLook & {
  readonly slug: string;
  readonly title: string;
  readonly hasLogo: boolean;
  /** The time zone of its times. */
  readonly zone: string;
  /** When it was read. */
  readonly now: number;
  readonly rows: readonly PublicRow[];
  /** Ongoing ones, and those that ended within the last fourteen days; newest first. */
  readonly incidents: readonly PublicIncident[];
  readonly maintenance: readonly PublicMaintenance[];
  readonly objectives: readonly PublicObjective[];
};

const pageDays = 90;
const day = 86_400_000;

/** When each of the last days began in that zone, oldest first. */
function daysUntil(now: number, zone: string, count: number): readonly number[] {
  const today = Math.floor(localOf(now, zone) / day) * day;
  const instant = instantsIn(zone);
  return Array.from({ length: count }, (_, index) => instant(today - (count - 1 - index) * day));
}

/**
 * The stretches of a monitor's history, day by day. `begins`: from daysUntil(); the last day ends
 * now.
 */
function daysOf(
  stretches: readonly Stretch[],
  begins: readonly number[],
  now: number,
): readonly PublicDay[] {
  const days: PublicDay[] = [];
  let first = 0;
  for (const [index, from] of begins.entries()) {
    const to = begins[index + 1] ?? now;
    const sum = { up: 0, down: 0, maintenance: 0, unknown: 0, paused: 0 };
    while (first < stretches.length && (stretches[first]?.to ?? 0) <= from) first += 1;
    for (let place = first; place < stretches.length; place += 1) {
      const stretch = stretches[place];
      if (!stretch || stretch.from >= to) break;
      sum[stretch.state] += Math.min(stretch.to, to) - Math.max(stretch.from, from);
    }
    const { paused: _, ...shown } = sum;
    days.push({ from, ...shown });
  }
  return days;
}

export type DayState = 'up' | 'down' | 'maintenance' | 'unknown' | 'none';

/** A day with any downtime counts as down, otherwise one with any maintenance as that. */
export function dayState({ up, down, maintenance, unknown }: PublicDay): DayState {
  if (down > 0) return 'down';
  if (maintenance > 0) return 'maintenance';
  if (up === 0 && unknown === 0) return 'none';
  return unknown >= up ? 'unknown' : 'up';
}

/** The days of several as one: it was down where any was, for as long as the longest. */
export function daysTogether(
  monitors: readonly Pick<PublicMonitor, 'days'>[],
): readonly PublicDay[] {
  const [first, ...others] = monitors.map(({ days }) => days);
  return (first ?? []).map((day, at) =>
    others.reduce<PublicDay>((sum, days) => {
      const { up = 0, down = 0, maintenance = 0, unknown = 0 } = days[at] ?? {};
      return {
        from: sum.from,
        up: sum.up + up,
        down: Math.max(sum.down, down),
        maintenance: sum.maintenance + maintenance,
        unknown: sum.unknown + unknown,
      };
    }, day),
  );
}

export function monitorsOf(page: Pick<PublicPage, 'rows'>): readonly PublicMonitor[] {
  return page.rows.filter((row): row is PublicMonitor => row.kind === 'monitor');
}

/** The headline of the page, before it is put into words. */
export type Verdict =
  | {
      readonly is: 'down';
      readonly names: readonly string[];
      readonly of: number;
      readonly since: number | null;
    }
  | { readonly is: Impact; readonly names: readonly string[]; readonly since: number | null }
  | { readonly is: 'maintenance'; readonly names: readonly string[]; readonly until: number | null }
  | { readonly is: 'up' | 'pending' | 'empty' };

export function verdictOf(
  page: Pick<PublicPage, 'rows' | 'incidents' | 'maintenance' | 'now'>,
): Verdict {
  const monitors = monitorsOf(page);
  const named = (state: PublicState): string[] =>
    monitors.filter((each) => each.state === state).map(({ name }) => name);
  /** Since when the first of them is as it is. */
  const since = (affected: readonly PublicMonitor[]): number | null => {
    const open = page.incidents.filter(
      ({ resolvedAt, monitors: of }) =>
        resolvedAt === null && affected.some(({ id }) => of.includes(id)),
    );
    return open.length === 0 ? null : Math.min(...open.map(({ startedAt }) => startedAt));
  };
  const down = monitors.filter(({ state }) => state === 'down');
  if (down.length > 0)
    return { is: 'down', names: named('down'), of: monitors.length, since: since(down) };
  const reported = monitors.filter(({ state }) => isImpact(state));
  const worst = worstOf(reported.map(({ state }) => state));
  if (worst !== undefined)
    return { is: worst, names: reported.map(({ name }) => name), since: since(reported) };
  const maintained = named('maintenance');
  if (maintained.length > 0) {
    const running = page.maintenance.filter(
      ({ startsAt, endsAt }) => startsAt <= page.now && page.now < endsAt,
    );
    return {
      is: 'maintenance',
      names: maintained,
      until: running.length === 0 ? null : Math.max(...running.map(({ endsAt }) => endsAt)),
    };
  }
  if (monitors.length === 0) return { is: 'empty' };
  return { is: monitors.some(({ state }) => state === 'up') ? 'up' : 'pending' };
}

function isImpact(state: PublicState): state is Impact {
  return impacts.some((impact) => impact === state);
}

/** The greatest of several; undefined for none. */
function worstOf(given: readonly PublicState[]): Impact | undefined {
  return impacts.findLast((impact) => given.includes(impact));
}

/**
 * The public address of a page: below the installation's own address, or on the domain that it
 * proved; never taken from a request.
 */
export function originOf(
  { slug, domain }: { readonly slug: string; readonly domain: string | null },
  baseUrl: string,
): string {
  return domain === null
    ? `${baseUrl}/status/${slug}`
    : `${baseUrl.startsWith('https:') ? 'https' : 'http'}://${domain}`;
}

/** Turns the database's rows of published monitors into the public view. */
type Named = {
  readonly kind: 'group' | 'monitor';
  readonly id: string;
  readonly name: string;
  readonly under: string | null;
};

/**
 * The history that the figures need: the first day may have begun up to a day before the window of
 * ninety.
 */
export function figuresWindow(now: number): Interval {
  return windowOf(pageDays + 2, now);
}

type Figures = {
  readonly now: number;
  readonly zone: string;
  readonly rows: readonly Named[];
  /** For monitors: their public ids on this page. */
  readonly publicIds: ReadonlyMap<string, string>;
  readonly histories: readonly MonitorHistory[];
  readonly responses: ReadonlyMap<string, number>;
  /** By monitor: since when it is slow. */
  readonly slow: ReadonlyMap<string, number>;
  readonly reports: readonly Report[];
};

export function publicRows({
  now,
  zone,
  rows,
  publicIds,
  histories,
  responses,
  slow,
  reports,
}: Figures): readonly PublicRow[] {
  const begins = daysUntil(now, zone, pageDays);
  const window = { from: begins[0] ?? now, to: now };
  const byId = new Map(histories.map((history) => [history.id, history]));
  const open = reports.filter(
    ({ endsAt, isMeasured }) => !isMeasured && (endsAt === null || endsAt > now),
  );
  /** What was measured as down stays so; anything else is as it was reported. */
  const state = (history: MonitorHistory): PublicState => {
    const measured = stateOf(history, now);
    if (measured === 'down') return measured;
    const affected = open.flatMap((report) => report.affected);
    const own = affected.filter(({ monitor: of }) => of === history.id);
    return worstOf(own.map(({ impact }) => impact)) ?? measured;
  };
  const monitor = (id: string, { name, under }: Named, history: MonitorHistory): PublicMonitor => {
    const percent = (days: number) => percentShown(history, windowOf(days, now));
    const shown = state(history);
    return {
      kind: 'monitor',
      id,
      name,
      isUnder: under !== null,
      state: shown,
      days: daysOf(stretchesOf(history, window), begins, now),
      percent: { 7: percent(7), 30: percent(30), 90: percent(90) },
      responseMs: responses.get(history.id) ?? null,
      slowSince: shown === 'up' ? (slow.get(history.id) ?? null) : null,
    };
  };
  return rows.flatMap((row): PublicRow[] => {
    if (row.kind === 'group') return [{ kind: 'group', name: row.name }];
    const [id, history] = [publicIds.get(row.id), byId.get(row.id)];
    // Deleted between the two queries.
    return id === undefined || history === undefined ? [] : [monitor(id, row, history)];
  });
}

function stateOf(history: MonitorHistory, now: number): PublicState {
  if (history.paused_at !== null) return 'paused';
  if (history.cover.some(({ from, to }) => from <= now && now < to)) return 'maintenance';
  // An unconfirmed incident is not public.
  const incident = history.incident?.confirmed_at == null ? null : history.incident;
  const { status } = statusOf({ ...history, incident }, now);
  return status === 'verifying' ? 'up' : status;
}

type ConfirmedIncident = {
  readonly id: string;
  readonly monitor: string;
  readonly startedAt: number;
  readonly resolvedAt: number | null;
  readonly posts: PublicIncident['posts'];
  readonly postMortem?: PublicIncident['postMortem'];
  readonly cause: string | null;
  readonly witnesses: PublicIncident['witnesses'];
};

type IncidentNames = Pick<Figures, 'publicIds' | 'now'> & {
  /** By the ids of monitors. */
  readonly names: ReadonlyMap<string, string>;
};

/**
 * Under the names of the page. An incident that maintenance covers completely counts as no
 * downtime, and is not shown.
 */
export function publicIncidents(
  incidents: readonly ConfirmedIncident[],
  { names, publicIds, histories, now }: IncidentNames & Pick<Figures, 'histories'>,
): readonly PublicIncident[] {
  const cover = new Map(histories.map((history) => [history.id, union(history.cover)]));
  return incidents.flatMap(({ monitor, ...incident }) => {
    const [id, name, covered] = [
      publicIds.get(monitor),
      names.get(monitor),
      cover.get(monitor) ?? [],
    ];
    const lasted = { from: incident.startedAt, to: incident.resolvedAt ?? now };
    if (
      id === undefined ||
      name === undefined ||
      (lasted.to > lasted.from && length(subtract([lasted], covered)) === 0)
    )
      return [];
    const of = { title: null, impacts: [], until: null, monitors: [id], names: [name] };
    return [{ ...incident, ...of }];
  });
}

/** What people wrote on the page by hand. */
export type Report = {
  readonly id: string;
  readonly title: string;
  readonly startedAt: number;
  readonly endsAt: number | null;
  /** It is about a cause, whose services are as their checks find them. */
  readonly isMeasured: boolean;
  readonly affected: readonly { readonly monitor: string; readonly impact: Impact }[];
  readonly posts: PublicIncident['posts'];
};

/** Under the names of the page; monitors that it does not show are left out. */
export function publicReports(
  reports: readonly Report[],
  { names, publicIds, now }: IncidentNames,
): readonly PublicIncident[] {
  return reports.map(({ id, title, startedAt, endsAt, affected, posts }) => {
    const shown = affected.flatMap(({ monitor, impact }) => {
      const [row, name] = [publicIds.get(monitor), names.get(monitor)];
      return row === undefined || name === undefined ? [] : [{ row, name, impact }];
    });
    const isOver = endsAt !== null && endsAt <= now;
    return {
      id,
      title,
      startedAt,
      posts,
      resolvedAt: isOver ? endsAt : null,
      until: isOver ? null : endsAt,
      monitors: shown.map(({ row }) => row),
      names: shown.map(({ name }) => name),
      impacts: shown.map(({ impact }) => impact),
      witnesses: [],
    };
  });
}

/** Open ones first, then the newest. */
export function inOrder(incidents: readonly PublicIncident[]): readonly PublicIncident[] {
  return incidents.toSorted(
    (a, b) =>
      Number(a.resolvedAt !== null) - Number(b.resolvedAt !== null) || b.startedAt - a.startedAt,
  );
}

/** Outages of several services that have one cause, as one; of which a post-mortem tells stays by itself. */
export function byCause(incidents: readonly PublicIncident[]): readonly PublicIncident[] {
  const groups = Map.groupBy(incidents, ({ id, cause, resolvedAt, postMortem }) =>
    cause == null || postMortem ? id : `${cause} ${resolvedAt === null}`,
  );
  return inOrder([...groups.values()].flatMap(asOne));
}

function asOne(all: readonly PublicIncident[]): readonly PublicIncident[] {
  const [first, ...others] = all.toSorted((a, b) => a.startedAt - b.startedAt);
  const services = new Map(
    all.flatMap(({ monitors, names }) => monitors.map((id, at) => [id, names[at] ?? ''] as const)),
  );
  if (first === undefined || others.length === 0 || services.size === 1) return all;
  const posts = all.flatMap((each) => each.posts).toSorted((a, b) => a.at - b.at);
  const ends = all.flatMap(({ resolvedAt }) => resolvedAt ?? []);
  return [
    {
      ...first,
      monitors: [...services.keys()],
      names: [...services.values()],
      resolvedAt: first.resolvedAt === null ? null : Math.max(...ends),
      posts: [...new Map(posts.map((post) => [`${post.kind} ${post.text}`, post])).values()],
      together: [first, ...others].map(({ id, names }) => ({ id, name: names.join(', ') })),
    },
  ];
}

type Occurrence = {
  readonly id: string;
  readonly startsAt: number;
  readonly endsAt: number;
  readonly monitors: readonly string[];
};

export function publicMaintenance(
  occurrences: readonly Occurrence[],
  rows: readonly Named[],
): readonly PublicMaintenance[] {
  return occurrences.map(({ monitors, ...occurrence }) => ({
    ...occurrence,
    names: rows.flatMap(({ id, name }) => (monitors.includes(id) ? [name] : [])),
  }));
}
