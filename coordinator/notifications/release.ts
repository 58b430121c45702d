import type { Starts } from '../../shared/actor/supervisor.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Queryable, Sql, Statement } from '../database/connect.ts';
import { listenTo } from '../database/listen.ts';
import { jsonText } from '../database/sql.ts';
import { coverOfMonitors } from '../maintenance/cover.ts';
import {
  type Alert,
  type AlertEvent,
  type AlertState,
  downs,
  late,
  mayNotify,
  release,
  settle,
} from './policy.ts';

/**
 * The notification that a decision asks for. A "down" waits in the table until it is due; an "up"
 * or "closed" goes to the recipients of the "down".
 */
export type AlertWrite =
  | { readonly event: 'down'; readonly incident: string; readonly due_at: number }
  | { readonly event: 'was_down'; readonly incident: string; readonly due_at: number }
  | { readonly event: 'up' | 'closed'; readonly incident: string; readonly at: number };

/** The planner chooses the channels later; until then one name represents all. */
const channels = [''];

/**
 * Writes the downs of a confirmed incident, as downs() in policy.ts makes them, without reading
 * first. They are the incident's first alerts: either there is none yet, or the incident is
 * retimed, and held alerts follow it.
 */
export function writeDowns(
  sql: Queryable,
  writes: readonly (AlertWrite & { readonly event: 'down' })[],
): Statement[] {
  if (writes.length === 0) return [];
  const newest = new Map(writes.map(({ incident, due_at }) => [incident, due_at]));
  const rows = [...newest].flatMap(([incident, due_at]) =>
    downs([], channels, due_at).map((alert) => ({
      incident,
      ...alert,
      due_at: new Date(due_at).toISOString(),
    })),
  );
  const statement = sql`
    insert into alerts (organisation_id, monitor_id, incident_id, event, channel, state, due_at)
    select i.organisation_id, i.monitor_id, i.id, d.event, d.channel, d.state, d.due_at
    from json_to_recordset(${jsonText(rows)}::text::json) as d (incident uuid, event text,
      channel text, state text, due_at timestamptz)
    join incidents i on i.id = d.incident
    on conflict (incident_id, event, channel) do update set due_at = excluded.due_at
      where alerts.state = 'held' and alerts.due_at <> excluded.due_at`;
  return [statement];
}

type Row = { readonly incident: string; readonly alert: Alert };

/**
 * Runs in the transaction that writes the incidents, after them. What happens to alerts is decided
 * in policy.ts.
 */
export async function writeAlerts(sql: Queryable, writes: readonly AlertWrite[]): Promise<void> {
  if (writes.length === 0) return;
  const rows = await rowsOf(sql, [...new Set(writes.map(({ incident }) => incident))]);
  const changed = new Map<string, Row>();
  for (const write of writes) {
    const { incident } = write;
    const before = rows.get(incident) ?? [];
    const now =
      write.event === 'down'
        ? downs(before, channels, write.due_at)
        : write.event === 'was_down'
          ? late(before, channels, write.due_at)
          : settle(before, write.event, write.at);
    const isChanged = ({ event, channel }: Alert) =>
      now.some((row) => row.event === event && row.channel === channel);
    rows.set(incident, [...before.filter((row) => !isChanged(row)), ...now]);
    for (const alert of now)
      changed.set(`${incident} ${alert.event} ${alert.channel}`, { incident, alert });
  }
  await put(sql, [...changed.values()]);
}

/**
 * The sent and pending alerts of these incidents, locked until the transaction ends, so that no one
 * releases meanwhile what ends here.
 */
async function rowsOf(
  sql: Queryable,
  incidents: readonly string[],
): Promise<Map<string, readonly Alert[]>> {
  const found = await sql<
    { incident: string; event: AlertEvent; channel: string; state: AlertState; due_at: number }[]
  >`
    select incident_id as incident, event, channel, state, due_at from alerts
    where incident_id = any(${incidents}::uuid[]) order by id for update`;
  const rows = new Map<string, readonly Alert[]>();
  for (const { incident, due_at, ...row } of found)
    rows.set(incident, [...(rows.get(incident) ?? []), { ...row, due_at }]);
  return rows;
}

/**
 * Writes rows as the core decided them: new ones, and new states of existing ones. An incident is
 * deleted with its monitor; its notifications stay.
 */
async function put(sql: Queryable, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const told = rows.map(({ incident, alert }) => ({
    incident,
    ...alert,
    due_at: new Date(alert.due_at).toISOString(),
  }));
  await sql`
    insert into alerts (organisation_id, monitor_id, incident_id, event, channel, state, due_at)
    select i.organisation_id, i.monitor_id, d.incident, d.event, d.channel, d.state, d.due_at
    from json_to_recordset(${jsonText(told)}::text::json) as d (incident uuid, event text,
      channel text, state text, due_at timestamptz)
    cross join lateral (
      select organisation_id, monitor_id from incidents where id = d.incident
      union all select organisation_id, monitor_id from alerts where incident_id = d.incident
      limit 1) i
    on conflict (incident_id, event, channel) do update
    set state = excluded.state, due_at = excluded.due_at,
      settled_at = case when excluded.state = 'dropped' then now() else alerts.settled_at end`;
}

/** `by_target`: the target itself announced it. */
type HeldAlert = {
  readonly id: number;
  readonly monitor_id: string;
  readonly partition: number;
  readonly due_at: number;
  readonly by_target: boolean;
};

/**
 * Releases held alerts when they are due and nothing covers the monitor (rule 25). Each coordinator
 * does so for its own partitions, because only the owner of a partition knows whether its past has
 * been decided (rule 4).
 */
type Alerter = {
  readonly tick: () => Promise<void>;
  /** Call when an alert was written: the next tick reads, although some are held. */
  readonly wake: () => void;
};

/** What the owner of a partition knows about its past. */
export type PartitionBacklog = {
  readonly lease: Lease;
  /** Whether the whole backlog of the probes has been decided. */
  readonly isCaughtUp: boolean;
};

const page = 500;
/**
 * A held alert is checked again after this time, so that one whose window was deleted is sent soon.
 */
const againMs = 1_000;
/** Should the database's notification of an alert be lost. */
const longestRestMs = 5_000;
/** However many alerts are written, held ones are not all checked more often than this. */
const leastMs = 100;

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly owner: string;
  readonly known: () => readonly PartitionBacklog[];
};

export function createAlerter({ sql, clock, log, owner, known }: Dependencies): Alerter {
  /**
   * By performance.now(): a clock that is set back must not delay alerts until it has caught up.
   */
  let nextReadAt = Number.NEGATIVE_INFINITY;
  let readAt = Number.NEGATIVE_INFINITY;
  let areHeld = false;
  let isWoken = false;

  const releasePage = async (
    now: number,
    after: number,
  ): Promise<{ last: number | undefined; held: number }> => {
    const partitions = new Map(known().map((each) => [each.lease.partition, each]));
    if (partitions.size === 0) return { last: undefined, held: 0 };
    const owned = { owner, leases: [...partitions.values()].map(({ lease }) => lease) };
    const waiting = await heldAlerts(sql, owned, now, after, page);
    const isOfNow = ({ partition, by_target }: HeldAlert): boolean => {
      const its = partitions.get(partition);
      return (
        its !== undefined && mayNotify({ isPastDecided: its.isCaughtUp, isSaidByTarget: by_target })
      );
    };
    const rows = waiting.filter(isOfNow);
    const covers = await coverOfMonitors(
      sql,
      [...new Set(rows.map(({ monitor_id }) => monitor_id))],
      { from: now - 1, to: now + 1 },
    );
    const due = rows.filter(
      ({ monitor_id, due_at }) => release(due_at, covers.get(monitor_id) ?? [], now).is === 'due',
    );
    const released = await releaseAlerts(
      sql,
      owned,
      due.map(({ id }) => id),
    );
    if (released > 0) log.info({ alerts: released }, 'released held alerts');
    return { last: waiting.at(-1)?.id, held: waiting.length - due.length };
  };

  return {
    wake: () => {
      isWoken = true;
      nextReadAt = Math.min(nextReadAt, areHeld ? readAt + leastMs : Number.NEGATIVE_INFINITY);
    },
    tick: async () => {
      const now = clock.now();
      // While some are held beyond their time, all are checked once a second.
      if (performance.now() < nextReadAt) return;
      readAt = performance.now();
      isWoken = false;
      let held = 0;
      for (let after: number | undefined = 0; after !== undefined; ) {
        const found = await releasePage(now, after);
        held += found.held;
        after = found.last;
      }
      areHeld = held > 0;
      const restMs = areHeld ? againMs : await untilNextHeld(sql, now);
      // One that was written meanwhile may have been missed.
      if (!isWoken) nextReadAt = performance.now() + restMs;
      else nextReadAt = areHeld ? readAt + leastMs : Number.NEGATIVE_INFINITY;
    },
  };
}

/** How long until a held alert is due by time alone; a new one, or another time of one, wakes. */
async function untilNextHeld(sql: Queryable, now: number): Promise<number> {
  const [row] = await sql<{ next: number | null }[]>`
    select min(due_at) as next from alerts where state = 'held'`;
  return Math.min(longestRestMs, Math.max(0, (row?.next ?? Number.POSITIVE_INFINITY) - now));
}

/** Releases every so often, and at once what a commit has made due. */
export async function startAlerter({
  supervisor,
  everyMs,
  notify,
  signal,
  ...deps
}: Dependencies & {
  readonly supervisor: Starts<'alerter'>;
  readonly everyMs: number;
  /** There is something to plan or to compose. */
  readonly notify: () => void;
  readonly signal: AbortSignal;
}): Promise<void> {
  const alerter = createAlerter(deps);
  const { hurry } = supervisor.ticker('alerter', { everyMs, tick: alerter.tick });
  const onAlerts = (table: string): void => {
    notify();
    if (table !== 'alerts') return;
    alerter.wake();
    hurry();
  };
  const { sql, log } = deps;
  const { unlisten } = await listenTo(sql, alertsChannel, onAlerts, { log, signal });
  supervisor.part('alerter', unlisten);
}

/**
 * The channel of NOTIFY that announces something to notify; it carries the name of the changed
 * table.
 */
const alertsChannel = 'alerts';

/** The partitions whose alerts this coordinator releases, unless another owns them by now. */
type Lease = { readonly partition: number; readonly epoch: number };
export type Owned = { readonly owner: string; readonly leases: readonly Lease[] };

/** Due alerts of these partitions that are still held, after an id, oldest first. */
export function heldAlerts(
  sql: Queryable,
  owned: Owned,
  now: number,
  after: number,
  limit: number,
): Promise<HeldAlert[]> {
  return sql<HeldAlert[]>`
    select a.id, a.monitor_id, m.partition, a.due_at, i.seen_continent is null as by_target
    from alerts a
    join monitors m on m.id = a.monitor_id
    join incidents i on i.id = a.incident_id
    where a.state = 'held' and a.due_at <= ${new Date(now)} and a.id > ${after}
      and m.partition = any(${partitionsOf(owned)}::smallint[])
    order by a.id limit ${limit}`;
}

function partitionsOf({ leases }: Owned): number[] {
  return leases.map(({ partition }) => partition);
}

/**
 * Sets held alerts to due, except those dropped meanwhile, and those whose partition another
 * coordinator owns by now.
 */
export async function releaseAlerts(
  sql: Queryable,
  owned: Owned,
  ids: readonly number[],
): Promise<number> {
  if (ids.length === 0) return 0;
  const rows = await sql`
    update alerts a set state = 'due'
    from monitors m
    join leases l on l.partition = m.partition
    join unnest(${partitionsOf(owned)}::smallint[],
      ${epochsOf(owned)}::bigint[]) as mine (partition, epoch)
      on mine.partition = l.partition and mine.epoch = l.epoch
    where m.id = a.monitor_id and l.owner = ${owned.owner} and a.state = 'held'
      and a.id = any(${ids}::bigint[])`;
  return rows.count;
}

function epochsOf({ leases }: Owned): number[] {
  return leases.map(({ epoch }) => epoch);
}
