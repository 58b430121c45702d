import type {
  Checkpoint,
  Effect,
  Gap,
  Incident,
  LedgerRow,
  MonitorEvent,
  Outage,
  SeenResult,
  Watched,
} from '../../coordinator/core/types.ts';
import {
  type CoveringWindow,
  coverOf,
  type Membership,
} from '../../coordinator/maintenance/cover.ts';
import {
  type Alert,
  type AlertEvent,
  downs,
  late,
  settle,
} from '../../coordinator/notifications/policy.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Interval } from '../../shared/base/time.ts';
import type { Outcome } from '../../shared/checks/result.ts';

/** One result as the oracle remembers it: what a probe really did, and what became of it. */
export type Made = {
  readonly monitor: number;
  readonly probe: number;
  readonly continent: Continent;
  readonly version: number;
  /** When the check really started, and by the probe's clock. */
  readonly started: number;
  readonly at: number;
  readonly outcome: Outcome;
  readonly look: string | null;
  readonly order: number;
  /** How often it was committed: once, if all is well. */
  counted: number;
  /** When it was decided on, in the round that was committed. */
  decided_at: number | null;
  quarantined: boolean;
  /** Older than what was decided of its probe before. */
  stale: boolean;
  /** Its spool was lost before it was committed. */
  lost: boolean;
};

/** A message delivered to somebody outside. */
type Delivered = {
  readonly incident: string;
  readonly event: AlertEvent;
  readonly channel: string;
  readonly at: number;
  /**
   * When the incident was confirmed, as known when it left: what left has left, though the incident
   * is dated anew (rule 3).
   */
  readonly confirmed_at: number | null;
};

export type Record = {
  /** By monitor, in order of making. */
  readonly made: Made[][];
  readonly delivered: Delivered[];
  /** By monitor: stretches that were covered by passes without each being made, and the last pass. */
  readonly calm: { from: number; last: number; to: number }[][];
  /** Moments at which the network or the coordinator was found to be unwell. */
  readonly unwell: number[];
  readonly violations: string[];
  checks: number;
  messages: number;
  jumps: number;
  restarts: number;
  fenced: number;
};

export const createRecord = (monitors: number): Record => ({
  made: Array.from({ length: monitors }, () => []),
  delivered: [],
  calm: Array.from({ length: monitors }, () => []),
  unwell: [],
  violations: [],
  checks: 0,
  messages: 0,
  jumps: 0,
  restarts: 0,
  fenced: 0,
});

/**
 * The simulated Postgres: rows, transactions that are whole or nothing, and a lease whose epoch
 * fences off a stale owner.
 */

export type Stored = { readonly seen: SeenResult; readonly made: Made };
type OutboxRow = { readonly monitor: number; readonly event: MonitorEvent };

/** What one round wants committed. */
export type Unit = {
  readonly epoch: number;
  readonly watermarks: ReadonlyMap<string, number>;
  readonly results: readonly Stored[];
  readonly effects: readonly { readonly monitor: number; readonly effect: Effect }[];
  readonly outboxDone: number;
  readonly checkpoints: ReadonlyMap<number, Checkpoint> | null;
};

type IncidentRow = { readonly monitor: number; readonly incident: Incident };
type Window = CoveringWindow & { readonly monitor: number | null };

export type Database = {
  readonly watched: Watched[];
  readonly watermarks: Map<string, number>;
  readonly incidents: Map<string, IncidentRow>;
  readonly alerts: Map<string, { readonly monitor: number; rows: readonly Alert[] }>;
  /** Incidents with alerts that are held or due. */
  readonly unsettled: Set<string>;
  readonly outbox: OutboxRow[];
  readonly windows: Window[];
  readonly memberships: { monitor: number; group: string; from: number; to: number | null }[];
  readonly quarantined: Map<number, number>;
  outboxDone: number;
  epoch: number;
  readonly takeOver: () => number;
  /** False when the epoch is another's by now: then nothing was written. */
  readonly commit: (unit: Unit) => boolean;
  readonly cover: (monitor: number) => Interval[];
  readonly ledger: (monitor: number, kind: 'paused' | 'unknown') => LedgerRow[];
  readonly gaps: (monitor: number) => Gap[];
  readonly openIncident: (monitor: number) => Incident | null;
  /** The confirmed outage that ended last. */
  readonly lastDown: (monitor: number) => Outage | null;
  readonly checkpoint: (monitor: number) => {
    readonly checkpoint: Checkpoint | null;
    readonly since: readonly SeenResult[];
  };
  /** After a jump through a calm time: the checkpoint as passes alone would have left it. */
  readonly keep: (monitor: number, checkpoint: Checkpoint) => void;
};

type Since = { checkpoint: Checkpoint | null; since: SeenResult[] };

export const createDatabase = (
  watched: readonly Watched[],
  channels: readonly (readonly string[])[],
): Database => {
  const ledgers = watched.map(() => ({
    paused: new Map<number, LedgerRow>(),
    unknown: new Map<number, LedgerRow>(),
  }));
  const checkpoints = watched.map((): Since => ({ checkpoint: null, since: [] }));
  const open = new Map<number, Incident>();
  const ended = new Map<number, Outage>();

  const applyAlert = (monitor: number, effect: Extract<Effect, { is: 'alert' }>) => {
    const before = database.alerts.get(effect.incident);
    const rows = before?.rows ?? [];
    const changed =
      effect.event === 'down'
        ? downs(rows, channels[monitor] ?? [], effect.due_at)
        : effect.event === 'was_down'
          ? late(rows, channels[monitor] ?? [], effect.due_at)
          : settle(rows, effect.event, effect.at);
    const kept = rows.filter(
      (row) => !changed.some((other) => other.event === row.event && other.channel === row.channel),
    );
    if (before) before.rows = [...kept, ...changed];
    else database.alerts.set(effect.incident, { monitor, rows: changed });
    database.unsettled.add(effect.incident);
  };

  const apply = (monitor: number, effect: Effect) => {
    if (effect.is === 'incident') {
      database.incidents.set(effect.incident.id, { monitor, incident: effect.incident });
      const { started_at, confirmed_at, resolved_at } = effect.incident;
      if (
        confirmed_at !== null &&
        resolved_at !== null &&
        resolved_at >= (ended.get(monitor)?.to ?? 0)
      )
        ended.set(monitor, { from: started_at, to: resolved_at });
      if (resolved_at === null) open.set(monitor, effect.incident);
      else if (open.get(monitor)?.id === effect.incident.id) open.delete(monitor);
    } else if (effect.is === 'ledger') {
      const rows = ledgers[monitor]?.[effect.kind];
      for (const began of effect.drop) rows?.delete(began);
      for (const row of effect.put) rows?.set(row.began_at, row);
    } else if (effect.is === 'alert') applyAlert(monitor, effect);
  };

  const database: Database = {
    watched: [...watched],
    watermarks: new Map(),
    incidents: new Map(),
    alerts: new Map(),
    unsettled: new Set(),
    outbox: [],
    windows: [],
    memberships: [],
    quarantined: new Map(),
    outboxDone: 0,
    epoch: 0,
    takeOver: () => {
      database.epoch += 1;
      return database.epoch;
    },
    commit: (unit) => {
      if (unit.epoch !== database.epoch) return false;
      for (const [name, seq] of unit.watermarks) database.watermarks.set(name, seq);
      for (const { seen, made } of unit.results) {
        made.counted += 1;
        checkpoints[made.monitor]?.since.push(seen);
      }
      for (const { monitor, effect } of unit.effects) apply(monitor, effect);
      database.outboxDone = Math.max(database.outboxDone, unit.outboxDone);
      for (const [monitor, checkpoint] of unit.checkpoints ?? [])
        database.keep(monitor, checkpoint);
      return true;
    },
    cover: (monitor) => {
      const memberships: Membership[] = database.memberships.filter(
        (each) => each.monitor === monitor,
      );
      const windows = database.windows.map((window) => ({
        ...window,
        direct: window.monitor === monitor,
      }));
      return coverOf(windows, memberships);
    },
    ledger: (monitor, kind) =>
      [...(ledgers[monitor]?.[kind].values() ?? [])].toSorted((a, b) => a.began_at - b.began_at),
    gaps: (monitor) =>
      database.ledger(monitor, 'unknown').map(({ began_at, ended_at, interval_ms }) => ({
        from: began_at,
        to: ended_at,
        interval_ms,
      })),
    openIncident: (monitor) => open.get(monitor) ?? null,
    lastDown: (monitor) => ended.get(monitor) ?? null,
    checkpoint: (monitor) => checkpoints[monitor] ?? { checkpoint: null, since: [] },
    keep: (monitor, checkpoint) => {
      checkpoints[monitor] = { checkpoint, since: [] };
    },
  };
  return database;
};
