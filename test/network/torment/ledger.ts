import type { Sql, Transaction } from '../../../coordinator/database/connect.ts';
import { inTransaction } from '../../../coordinator/database/sql.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { repeatedChecks, storedChecks } from '../../support/stored-checks.ts';
import type { Outage, Seen } from './truth.ts';

/**
 * The ledger: what each probe saw (the log of the targets, and what a killed probe had on its disk)
 * against what the database holds. Pure.
 *
 * A check that was under way when its probe was killed was seen by the target and by nobody else:
 * it is counted as `in_flight`, never as lost. It may be excused so only if the dead probe's disk
 * does not hold it, and if the kill came within a moment after the request; or within a few, if the
 * probe had saved nothing that it began later. Where everything starts again at once, a check takes
 * longer than usual.
 */

export type Row = {
  readonly probe: string;
  readonly continent: Continent;
  readonly place: string;
  readonly at: number;
  readonly took_ms: number;
  /** Null: the probe's own fault. */
  readonly ok: boolean | null;
  /** Of a private probe: it is stored as others are, and decides nothing. */
  readonly inside?: boolean;
};
/**
 * What a killed probe had on its disk at that moment: to each of these the database must be able to
 * answer in the end.
 */
export type Saved = { readonly probe: string; readonly monitor: string; readonly at: number };

/** When the signal was sent, and when the process was found gone: on a busy machine, later. */
export type Kill = { readonly probe: string; readonly at: number; readonly goneAt: number };

export type Balance = {
  readonly seen: number;
  readonly stored: number;
  readonly in_flight: number;
  /** Seen, or on a dead probe's disk, and not in the database. */
  readonly lost: readonly string[];
  /** In the database twice. */
  readonly doubled: readonly string[];
  /** In the database, and no target ever heard of it. */
  readonly invented: readonly string[];
  /** What is known of each of these shortly before and after, for whoever asks why. */
  readonly moments: readonly object[];
};

/**
 * No request and the start of its check are further apart: the machine is busy, so that a request
 * arrives when its check was given up, or the clock of a probe whose way to the bus stood is wrong
 * for a while.
 */
const apart = 10_000;
/** A check of a target on this machine and the write to the disk are over by then, as a rule. */
const underWay = 500;
/** A request that left before its probe died is read by the target up to so long afterwards. */
const arrives = 250;
/** Longer than its limit of time no check is under way. */
const longest = 3_000;

/** So much before and after a check says why it is missing. */
const around = 20_000;

type Dated = { readonly probe: string; readonly place: string; readonly at: number };

const keyOf = ({ probe, place }: Omit<Dated, 'at'>): string => `${probe} ${place}`;

const group = <Entry extends Dated>(entries: readonly Entry[]): Map<string, Entry[]> => {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries.toSorted((a, b) => a.at - b.at)) {
    const known = groups.get(keyOf(entry));
    if (known) known.push(entry);
    else groups.set(keyOf(entry), [entry]);
  }
  return groups;
};

/**
 * Pairs requests and rows of one probe and target, the nearest first: in order of time alone, one
 * whose clock was wrong would take the request of the next check, and so would all after it. Gives
 * back those on both sides that have no partner.
 */
const pair = (
  seen: readonly Seen[],
  rows: readonly Row[],
): { readonly alone: readonly Seen[]; readonly strangers: readonly Row[] } => {
  const near: { readonly one: Seen; readonly row: Row; readonly distance: number }[] = [];
  let first = 0;
  for (const row of rows) {
    while ((seen[first]?.at ?? row.at) < row.at - apart) first += 1;
    for (let at = first; ; at += 1) {
      const one = seen[at];
      if (!one || one.at > row.at + apart) break;
      near.push({ one, row, distance: Math.abs(one.at - row.at) });
    }
  }
  const paired = new Set<Seen | Row>();
  for (const { one, row } of near.toSorted((a, b) => a.distance - b.distance))
    if (!paired.has(one) && !paired.has(row)) paired.add(one).add(row);
  return {
    alone: seen.filter((one) => !paired.has(one)),
    strangers: rows.filter((row) => !paired.has(row)),
  };
};

const tell = (entry: Dated): string => `${keyOf(entry)} ${new Date(entry.at).toISOString()}`;

export const balance = (input: {
  readonly seen: readonly Seen[];
  readonly rows: readonly Row[];
  readonly saved: readonly Saved[];
  readonly kills: readonly Kill[];
  readonly placeOf: (monitor: string) => string | undefined;
  /** What began later is still on its way and is not judged. */
  readonly until: number;
}): Balance => {
  const { seen, rows, saved, kills, placeOf, until } = input;
  const onDisk = saved.flatMap(({ probe, monitor, at }) => {
    const place = placeOf(monitor);
    return place === undefined ? [] : [{ probe, place, at }];
  });
  const momentOf = (wanted: Dated) => {
    const isNear = ({ probe, at }: { readonly probe: string; readonly at: number }) =>
      probe === wanted.probe && Math.abs(at - wanted.at) <= around;
    const isOfPlace = (entry: Dated) => isNear(entry) && entry.place === wanted.place;
    return {
      of: tell(wanted),
      kills: kills.filter(isNear),
      requests: seen.filter(isOfPlace),
      rows: rows.filter(isOfPlace),
      onDisk: onDisk.filter(isNear),
    };
  };
  const savedBy = Map.groupBy([...rows, ...onDisk], ({ probe }) => probe);
  const wasUnderWay = (one: Seen): boolean =>
    kills.some(({ probe, at, goneAt }) => {
      if (probe !== one.probe || goneAt + arrives < one.at || at > one.at + longest) return false;
      const isLater = (saved: { readonly at: number }) => saved.at > one.at && saved.at <= at;
      return at <= one.at + underWay || !savedBy.get(probe)?.some(isLater);
    });
  const held = new Set(rows.map((row) => `${keyOf(row)} ${row.at}`));
  const neverStored = onDisk.filter((entry) => !held.has(`${keyOf(entry)} ${entry.at}`));
  const lost: (Seen | (typeof onDisk)[number])[] = [];

  const identities = new Set<string>();
  const doubled: string[] = [];
  for (const row of rows) {
    const identity = `${keyOf(row)} ${row.at}`;
    if (identities.has(identity)) doubled.push(tell(row));
    identities.add(identity);
  }

  let inFlight = 0;
  const invented: Row[] = [];
  const [bySeen, byRow] = [group(seen), group(rows)];
  for (const key of new Set([...bySeen.keys(), ...byRow.keys()])) {
    const { alone, strangers } = pair(bySeen.get(key) ?? [], byRow.get(key) ?? []);
    for (const one of alone.filter(({ at }) => at <= until)) {
      if (wasUnderWay(one)) inFlight += 1;
      else lost.push(one);
    }
    invented.push(...strangers.filter(({ at }) => at <= until));
  }
  const count = (entries: readonly { readonly at: number }[]): number =>
    entries.filter(({ at }) => at <= until).length;
  return {
    seen: count(seen),
    stored: count(rows),
    in_flight: inFlight,
    lost: [
      ...new Set(neverStored.map((one) => `${tell(one)}, on disk when killed`)),
      ...lost.map(tell),
    ],
    doubled,
    invented: invented.map(tell),
    moments: [...neverStored, ...lost, ...invented].slice(0, 20).map(momentOf),
  };
};

/** What the database holds, as torment's checks need it. */

export type Incident = {
  readonly place: string;
  readonly started_at: number;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  readonly seen_continent: Continent | null;
  readonly confirmed_continent: Continent | null;
  readonly downs: number;
  readonly ups: number;
};

/**
 * Confirmed by what was known, and over in the same moment by what was told late: two failures that
 * lay in two outages. Nobody was told of it, and what was confirmed stays so (rule 3).
 */
export const isUnmade = ({ confirmed_at, resolved_at, downs }: Incident): boolean =>
  confirmed_at !== null && resolved_at === confirmed_at && downs === 0;

/** A ping of a job that is written down. */
export type StoredPing = {
  readonly id: string;
  readonly place: string;
  readonly kind: 'success' | 'fail';
  readonly at: number;
  readonly body: string;
};

export type PlaceOf = (monitor: string) => string | undefined;

export type Moment = { readonly incidents: Incident[]; readonly rows: Row[] };

const readIncidents = async (sql: Transaction, placeOf: PlaceOf): Promise<Incident[]> => {
  const rows = await sql<
    (Omit<Incident, 'place' | 'started_at' | 'confirmed_at' | 'resolved_at'> & {
      monitor_id: string;
      started_at: number;
      confirmed_at: number | null;
      resolved_at: number | null;
    })[]
  >`select i.monitor_id, i.started_at, i.confirmed_at, i.resolved_at, i.seen_continent, i.confirmed_continent,
      (select count(*) from alerts a where a.incident_id = i.id and a.event = 'down' and a.state in ('due', 'sent'))::int as downs,
      (select count(*) from alerts a where a.incident_id = i.id and a.event = 'up' and a.state in ('due', 'sent'))::int as ups
    from incidents i order by i.key`;
  return rows.flatMap(({ monitor_id, started_at, confirmed_at, resolved_at, ...row }) => {
    const place = placeOf(monitor_id);
    if (place === undefined) return [];
    const [from, until] = [
      confirmed_at && Number(confirmed_at),
      resolved_at && Number(resolved_at),
    ];
    return [
      { ...row, place, started_at: Number(started_at), confirmed_at: from, resolved_at: until },
    ];
  });
};

/** Those that decide where both sides check, and only the outside counts. */
export const outsideOf = (rows: readonly Row[]): readonly Row[] =>
  rows.filter(({ inside }) => inside !== true);

const readRows = async (sql: Transaction, placeOf: PlaceOf, since: number): Promise<Row[]> => {
  const checks = [
    ...(await storedChecks(sql, { since })),
    ...(await repeatedChecks(sql)).filter(({ at }) => at >= since),
  ];
  return checks.flatMap(
    ({ probe, continent, monitor, type, at, took_ms, outcome, is_private: inside }) => {
      const place = placeOf(monitor);
      const ok = outcome === 'unknown' ? null : outcome === 'ok';
      return place === undefined || type === 'heartbeat'
        ? []
        : [{ probe, continent, place, at, took_ms, ok, inside }];
    },
  );
};

/**
 * All incidents as they are to be told, and the messages of which nobody knows whether they were
 * taken.
 */
export const readExpectedMessages = (sql: Sql, placeOf: PlaceOf) =>
  inTransaction(sql, async (transaction) => {
    await transaction`set transaction isolation level repeatable read, read only`;
    const rows = await transaction<
      {
        id: string;
        monitor: string;
        confirmed: number | null;
        resolved: number | null;
        is_due: boolean;
        is_late: boolean;
        is_redated: boolean | null;
      }[]
    >`
      select i.id, i.monitor_id as monitor, i.confirmed_at as confirmed, i.resolved_at as resolved,
        exists (select 1 from alerts a where a.incident_id = i.id and a.event = 'down' and a.state in ('due', 'sent')) as is_due,
        exists (select 1 from alerts a where a.incident_id = i.id and a.event = 'was_down') as is_late,
        i.cause->>'class' = 'heartbeat_late' and i.started_at is not distinct from i.confirmed_at as is_redated
      from incidents i order by i.key`;
    const overtaken = await transaction<
      { id: string }[]
    >`select id from deliveries where state = 'superseded'`;
    return {
      incidents: rows.flatMap(
        ({ id, monitor, confirmed, resolved, is_due: isDue, is_late: isLate, is_redated }) => {
          const place = placeOf(monitor);
          const [confirmed_at, resolved_at] = [
            confirmed && Number(confirmed),
            resolved && Number(resolved),
          ];
          return place === undefined
            ? []
            : [
                {
                  id,
                  place,
                  confirmed_at,
                  resolved_at,
                  isDue,
                  isLate,
                  isRedated: is_redated === true,
                },
              ];
        },
      ),
      overtaken: new Set(overtaken.map(({ id }) => id)),
    };
  });

/** What probes judged of jobs. */
export const readJudged = async (sql: Sql, placeOf: PlaceOf) => {
  const checks = await storedChecks(sql);
  return checks.flatMap(({ type, monitor, at, outcome, probe }) =>
    type === 'heartbeat'
      ? [
          {
            probe,
            place: placeOf(monitor),
            at,
            ok: outcome === 'unknown' ? null : outcome === 'ok',
          },
        ]
      : [],
  );
};

/** One moment of the database; of the results those that began since then. */
export const readMoment = (sql: Sql, placeOf: PlaceOf, since = 0): Promise<Moment> =>
  inTransaction(sql, async (transaction) => {
    await transaction`set transaction isolation level repeatable read, read only`;
    return {
      incidents: await readIncidents(transaction, placeOf),
      rows: await readRows(transaction, placeOf, since),
    };
  });

/** The newest hundred of each job: no more are kept. */
export const readPings = async (sql: Sql, placeOf: PlaceOf): Promise<StoredPing[]> => {
  const rows = await sql<
    { id: string; monitor_id: string; kind: string; at: number; body: string }[]
  >`
    select id, monitor_id, kind, at, body from beats where kind in ('success', 'fail') order by at, id`;
  return rows.flatMap(({ id, monitor_id, kind, at, body }) => {
    const place = placeOf(monitor_id);
    return place === undefined
      ? []
      : [{ id, place, kind: kind === 'fail' ? 'fail' : 'success', at: Number(at), body }];
  });
};

/**
 * Whether what the database decided is true to what really was: which outages there were, once
 * each, and who was told. Pure.
 */

export type Verdict = {
  /** Outages that two continents saw twice and more. */
  readonly outages: number;
  /** Those of them that no confirmed incident tells of. */
  readonly missed: readonly string[];
  /** Confirmed incidents and alerts of what never was. */
  readonly false_alerts: readonly string[];
  /**
   * Incidents that lie over one another, are open although all is well, tell of one outage twice or
   * of two as one.
   */
  readonly crooked: readonly string[];
  /** A "down" or an "up" too many, or one without the other. */
  readonly unpaired: readonly string[];
  readonly confirmed: number;
  readonly told: number;
};

/** A check that started just before the target changed may have been answered just after. */
const slack = 2_000;
const ever = Number.POSITIVE_INFINITY;

type Span = { readonly from: number; readonly until: number };

/** What ended before the target changed was about something else, however shortly before. */
const touches = ({ started_at, resolved_at }: Incident, { from, until }: Span): boolean =>
  started_at <= until + slack && (resolved_at ?? ever) >= from;

export const describeIncident = ({
  place,
  started_at,
  confirmed_at,
  resolved_at,
}: Incident): string =>
  `${place} ${[started_at, confirmed_at, resolved_at].map((at) => (at === null ? '–' : new Date(at).toISOString())).join(' … ')}`;

const describeOutage = ({ place, from, until }: Outage): string =>
  `${place} ${[from, until].map((at) => (at === ever ? 'now' : new Date(at).toISOString())).join(' … ')}`;

/** How many of these results each continent has of the place in that time. */
const countBy = (
  rows: readonly Row[],
  place: string,
  { from, until }: Span,
  ok: boolean,
): number[] => {
  const counts = new Map<Continent, number>();
  for (const row of rows)
    if (row.ok === ok && row.place === place && row.at >= from && row.at <= until)
      counts.set(row.continent, (counts.get(row.continent) ?? 0) + 1);
  return [...counts.values()];
};

/**
 * A turn of four places, a check and 15 s: for so long two places alone wait for another, where it is
 * decided late (rule 46.2). All targets are one host, so that no probe is shown to be well by others.
 */
const awaitedMs = 4 * 3_000 + 2_900 + 15_000;

const wasSeenByTwo = (outage: Outage, rows: readonly Row[]): boolean => {
  const failing = (from: number) =>
    countBy(rows, outage.place, { from, until: outage.until }, false);
  const all = failing(outage.from);
  const checking = new Set(
    rows.flatMap((row) => (row.place === outage.place ? row.continent : [])),
  );
  const isAwaited = all.length === 2 && checking.size > 2;
  return (
    all.filter((count) => count >= 2).length >= 2 &&
    (!isAwaited || failing(outage.from + awaitedMs).length >= 2)
  );
};

/**
 * Between two outages of a place two continents have seen it well: whoever takes them for one has
 * not listened.
 */
const areApart = (one: Outage, other: Outage, rows: readonly Row[]): boolean =>
  countBy(rows, one.place, { from: one.until, until: other.from }, true).length >= 2;

const pairing = (incident: Incident): string | undefined => {
  const { downs, ups, resolved_at } = incident;
  if (downs > 1) return `${describeIncident(incident)} was told ${downs} times`;
  if (ups > 1) return `${describeIncident(incident)}: its end was told ${ups} times`;
  if (ups > downs)
    return `${describeIncident(incident)}: its end was told, and its beginning was not`;
  if (resolved_at !== null && downs > ups)
    return `${describeIncident(incident)}: its beginning was told, and its end was not`;
  return undefined;
};

/**
 * What is doubtful is not judged. It still explains the rest: a doubtful incident may go on through
 * an outage that is not.
 */
export const judge = (
  incidents: readonly Incident[],
  outages: readonly Outage[],
  rows: readonly Row[],
  stalls: readonly Span[],
  isDoubtful: (of: Incident | Outage) => boolean = () => false,
): Verdict => {
  const isCertain = (of: Incident | Outage) => !isDoubtful(of);
  const judged = incidents.filter(isCertain);
  const confirmed = incidents.filter((one) => one.confirmed_at !== null && !isUnmade(one));
  const real = outages.filter(({ onlyFrom }) => onlyFrom === null);
  const isReal = (incident: Incident) =>
    real.some((outage) => outage.place === incident.place && touches(incident, outage)) ||
    stalls.some(
      ({ from, until }) => incident.started_at >= from - slack && incident.started_at <= until,
    );
  const wanted = real.filter((outage) => isCertain(outage) && wasSeenByTwo(outage, rows));
  const about = (outage: Outage) =>
    confirmed.filter((incident) => incident.place === outage.place && touches(incident, outage));
  const certain = confirmed.filter(isCertain);
  const overlapping = certain.filter((one, index) =>
    certain
      .slice(index + 1)
      .some(
        (other) =>
          other.place === one.place &&
          other.started_at < (one.resolved_at ?? ever) &&
          one.started_at < (other.resolved_at ?? ever),
      ),
  );
  const merged = certain.filter((incident) => {
    const touched = real
      .filter((outage) => outage.place === incident.place && touches(incident, outage))
      .toSorted((a, b) => a.from - b.from);
    return touched.some(
      (outage, index) => index > 0 && areApart(touched[index - 1] ?? outage, outage, rows),
    );
  });
  return {
    outages: wanted.length,
    missed: wanted.filter((outage) => about(outage).length === 0).map(describeOutage),
    false_alerts: judged
      .filter((one) => (one.confirmed_at !== null || one.downs > 0) && !isReal(one))
      .map(describeIncident),
    crooked: [
      ...overlapping.map((one) => `${describeIncident(one)} lies over another`),
      ...judged
        .filter(({ resolved_at }) => resolved_at === null)
        .map((one) => `${describeIncident(one)} is still open`),
      ...wanted
        .map((one) => ({ one, told: about(one).filter(isCertain) }))
        .filter(({ told }) => told.length > 1)
        .map(
          ({ one, told }) =>
            `${describeOutage(one)} is ${told.length} incidents: ${told.map(describeIncident).join(', ')}`,
        ),
      ...merged.map((one) => `${describeIncident(one)} takes several outages for one`),
    ],
    unpaired: incidents.flatMap((one) => pairing(one) ?? []),
    confirmed: certain.length,
    told: judged.reduce((sum, { downs }) => sum + downs, 0),
  };
};
