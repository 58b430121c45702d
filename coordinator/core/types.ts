import type { Continent } from '../../shared/base/continents.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { HttpsAbility } from '../../shared/checks/placement.ts';
import type { Place } from '../../shared/checks/places.ts';
import type {
  Cause,
  CauseParams,
  Evidence,
  Layer,
  OtherTargets,
  Outcome,
  Phases,
  Result,
} from '../../shared/checks/result.ts';
import type { WarningCode } from '../../shared/checks/warnings.ts';

/**
 * What the core must know of a monitor to decide about it. Times are in milliseconds since the
 * epoch.
 */
export type Watched = {
  readonly id: string;
  readonly organisation: string;
  readonly kind: Kind;
  readonly interval_ms: number;
  readonly timeout_ms: number;
  readonly continents: readonly Continent[] | null;
  /** The private place whose probes check it; null: the public ones. */
  readonly probe: string | null;
  /** Which places check it, by `Place`; null: as `continents` and `probe` say. */
  readonly places?: readonly string[] | null | undefined;
  /** Of a monitor with public and private places: whether the private ones decide as well. */
  readonly inside_counts?: boolean | undefined;
  /**
   * The target's addresses when none of them is public: only probes with that permission can check
   * it.
   */
  readonly inside?: readonly string[] | undefined;
  /** What only some probes can do for it. */
  readonly ability?: HttpsAbility | undefined;
  readonly config_version: number;
  readonly alert_after_ms: number;
  /** Whether extra checks do no harm: GET and HEAD, DNS (rule 13). */
  readonly sampled: boolean;
  readonly created_at: number;
  readonly paused_at: number | null;
};

/** A probe's name and continent as incidents keep them. */
export type ObservingProbe = {
  readonly probe: string;
  readonly name: string;
  readonly continent: Continent;
  /** Its place, of a private one. */
  readonly place?: string | undefined;
};

/**
 * A result with what the coordinator knows of its probe. `handed_over`: part of a backlog that is
 * decided in order; more may follow (rule 4).
 */
export type SeenResult = Result & {
  readonly from: ObservingProbe;
  readonly quarantined: boolean;
  readonly handed_over: boolean;
};

/**
 * A ping as the coordinator received it from the bus. `covers_until`: the deadline that it sets for
 * the next ping.
 */
export type SeenPing = {
  /** An incident that it opens has the same id, so that a repeated ping opens it once. */
  readonly id: string;
  readonly at: number;
  /**
   * good: closes; bad: /fail or an exit code other than 0; mark: /start and /log, which decide
   * nothing here.
   */
  readonly is: 'good' | 'bad' | 'mark';
  readonly covers_until: number;
  /**
   * Of a bad one: when the failure began, which is the deadline if that passed before it (rule 20).
   * Of others: `at`.
   */
  readonly began_at: number;
  /** The next good one in order of time, if it is known already. */
  readonly next_good_at: number | null;
  /**
   * Of a late good one or a late start: when the failure before the next good one began; null when
   * there was none.
   */
  readonly fails_at: number | null;
  readonly cause: Cause | null;
  readonly evidence: Evidence | null;
};

export type MonitorEvent =
  | { readonly is: 'result'; readonly result: SeenResult }
  | { readonly is: 'ping'; readonly ping: SeenPing }
  | { readonly is: 'tick' }
  /**
   * Any change of the row but pausing; `changed`: the check itself changed (its config version went
   * up).
   */
  | {
      readonly is: 'edited';
      readonly at: number;
      readonly watched: Watched;
      readonly changed: boolean;
    }
  | { readonly is: 'paused'; readonly at: number }
  | { readonly is: 'resumed'; readonly at: number }
  | { readonly is: 'deleted'; readonly at: number }
  | { readonly is: 'quarantined'; readonly at: number; readonly probe: string };

/**
 * All that a decision depends on besides state and event. `newId` gives ids for incidents and
 * rechecks.
 */
export type Moment = {
  readonly now: number;
  readonly network: Roster;
  readonly newId: () => string;
  /** About how many incidents of the monitor's organisation are open. */
  readonly crowd?: number;
};

/** The newest usable result of one probe. A failure's details are kept while it is the newest. */
export type ProbeView = {
  readonly from: ObservingProbe;
  readonly at: number;
  readonly ok: boolean;
  /** Start of this probe's newest known pass, or null. */
  readonly ok_at: number | null;
  /** Start of the first of its failures in a row; null while it passes. */
  readonly failing_since: number | null;
  readonly failure: Failure | null;
};

export type Failure = {
  /**
   * When its finding began: the start of the check, or the deadline that a heartbeat missed (rule
   * 20).
   */
  readonly began_at: number;
  readonly took_ms: number;
  readonly cause: Cause | null;
  readonly phases: Phases | null;
  readonly evidence: Evidence | null;
  /** How the probe's other targets fared then (rule 46); null when that is not known. */
  readonly others: OtherTargets | null;
};

/** What an open incident needs to continue after a restart; stored as `incidents.progress`. */
export type Progress = {
  /** Another continent passed after started_at and before confirmation (rule 10). */
  readonly refuted: boolean;
  /**
   * Start of the check with which fewer than two continents failed; null while two fail (rule 12).
   */
  readonly below_since: number | null;
  /**
   * Consecutive failures (unconfirmed) or passes (confirmed) of the only continent, and when the
   * last one counted started (rule 14).
   */
  readonly run: number;
  readonly run_at: number;
  /**
   * The recheck that all others were asked for at the first failure, and which have not answered
   * yet (rules 9, 15).
   */
  readonly matrix: {
    readonly look: string;
    readonly asked_at: number;
    readonly waiting: readonly Place[];
  } | null;
  /** When all others were last asked for a recheck. */
  readonly asked_at: number;
  /**
   * Sampling (rule 13): when it began, when the next sample is due (null: it ended), and whose turn
   * it is.
   */
  readonly sampling: {
    readonly since: number;
    readonly next_at: number | null;
    readonly turn: number;
  };
  /** When a result of the past was last decided: more may come soon after. */
  readonly past_at: number;
  /** Whether its "down" has been created (rules 4, 25). */
  readonly alerted: boolean;
  /** Whether the operator was notified that no continent is left to confirm it (rule 14). */
  readonly told_alone: boolean;
  /** Places that were regional when it was confirmed, and are as long as they fail (rule 45). */
  readonly regional?: readonly Place[];
  /**
   * The places that fail were asked to show that they are well (rule 46); `before`: one of them has
   * passed since.
   */
  readonly doubted?: 'now' | 'before';
  /** Of a heartbeat's missed deadline: when the job first reported a failure of its own. */
  readonly reported_at?: number;
  /**
   * Continents, or private places, that failed since the incident began, and those that passed: they
   * decide the scope (rule 15).
   */
  readonly failed: readonly Place[];
  readonly passed: readonly Place[];
  /** Those that could check it when the last of these was counted. */
  readonly asked: readonly Place[];
  /** The same of the other side, once one of its places has answered. */
  readonly across?: { readonly failed: readonly Place[]; readonly passed: readonly Place[] };
  /**
   * Where both sides decide and the incident is unconfirmed: consecutive failures of the other side,
   * if it has one place only, like `run` of this side (rule 14), and with which of them they began.
   */
  readonly other?: {
    readonly from: ObservingProbe;
    readonly at: number;
    readonly run: number;
    readonly run_at: number;
  } | null;
};

export type Scope = 'everywhere' | 'some_continents' | 'one_continent';

/** One row of `incidents` after the decision. */
export type Incident = {
  readonly id: string;
  readonly started_at: number;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  /** null when the target itself reported it (a heartbeat's /fail). */
  readonly seen: ObservingProbe | null;
  readonly confirmed: ObservingProbe | null;
  readonly cause: Cause | null;
  readonly note: string | null;
  readonly scope: Scope;
  readonly layer: Layer | null;
  readonly progress: Progress;
};

/** An ok or fail that may retime an open incident. */
export type Observation = Pick<
  SeenResult,
  'from' | 'at' | 'took_ms' | 'cause' | 'phases' | 'evidence'
> & { readonly ok: boolean; readonly others: OtherTargets | null };

/**
 * Time without a usable result; `to` is null while it is open. `interval_ms`: the interval in force
 * when it began (rule 22).
 */
export type Gap = {
  readonly from: number;
  readonly to: number | null;
  readonly interval_ms: number;
};

export type Outage = { readonly from: number; readonly to: number };

/** What a continent last said of a warning. */
export type WarningView = {
  readonly continent: Continent;
  /** Of a private probe. */
  readonly place?: string | undefined;
  readonly probe: string;
  readonly at: number;
  /** Whether each of its last checks was warned of, the newest first. */
  readonly checks: readonly boolean[];
  /** What that amounts to; `since` the check that began it, `run` checks in a row. */
  readonly sees: boolean;
  readonly since: number;
  readonly run: number;
  readonly details: CauseParams;
};

/** A warning that is seen or has begun (core/warnings.ts). */
export type HeldWarning = {
  /** Of its row, once it has begun. */
  readonly id: string | null;
  readonly code: WarningCode;
  readonly details: CauseParams;
  readonly since: number;
  readonly begun_at: number | null;
  /** Start of the check with which fewer than two continents saw it; null while two do. */
  readonly below_since: number | null;
  /** Which stages of which end were told; see `toldAs`. */
  readonly told: readonly string[];
  readonly views: readonly WarningView[];
};

/**
 * Everything about one monitor, as plain data. It is small when nothing is wrong: one view for each
 * probe that checks it.
 */
export type MonitorState = {
  readonly watched: Watched;
  readonly views: readonly ProbeView[];
  /**
   * The newest start that was decided. A view's age is measured from here, so that the past is
   * judged as the past (rule 4).
   */
  readonly clock: number;
  /** Until when time counts as covered (rule 22). */
  readonly covered_until: number;
  /** Gaps of the last days; only the last may be open. */
  readonly gaps: readonly Gap[];
  readonly incident: Incident | null;
  /**
   * Observations of the open incident in order of start, so that late results can retime it (rule
   * 3).
   */
  readonly observations: readonly Observation[];
  /** A heartbeat's last ended incidents, the newest first: late pings may retime them (rule 20). */
  readonly closed: readonly Incident[];
  /**
   * The last confirmed outage that ended: late results from within it confirm no other (rule 3).
   * Null for a heartbeat.
   */
  readonly last_down: Outage | null;
  /** Results that started before this decide nothing: the monitor was made or resumed then. */
  readonly decides_from: number;
  /** A heartbeat's newest known good ping. */
  readonly beat_at: number | null;
  /** Empty for nearly all. */
  readonly warnings: readonly HeldWarning[];
  /** Set by restore(): open rechecks are requested again with the next tick. */
  readonly restored: boolean;
};

export type EvidenceRow = {
  readonly part: 'seen' | 'confirmed' | 'matrix';
  /** null: the job reported it, wherever its ping was received. */
  readonly continent: Continent | null;
  /** Of a private probe. */
  readonly place?: string | undefined;
  /** Or the coordinator, where it received a job's report. */
  readonly probe: string;
  readonly at: number;
  readonly outcome: Outcome;
  readonly took_ms: number;
  readonly cause: Cause | null;
  readonly phases: Phases | null;
  readonly evidence: Evidence | null;
};

export type LedgerRow = {
  readonly began_at: number;
  readonly ended_at: number | null;
  readonly interval_ms: number;
};

/**
 * What a decision wants written or sent. Rows are absolute: writing one twice changes nothing. They
 * are applied in order.
 */
export type Effect =
  /**
   * Insert or update by id. `change` is for logs and wake-ups; `opened`: the row is new, whatever
   * else this decision did to it. A close always comes before the opening of the next.
   */
  | {
      readonly is: 'incident';
      readonly change: 'opened' | 'moved' | 'confirmed' | 'closed' | 'progressed';
      readonly incident: Incident;
    }
  /**
   * Insert or replace by (incident, part, continent or place). Parts `seen` and `confirmed` are single: an
   * older row of another continent is removed.
   */
  | { readonly is: 'evidence'; readonly incident: string; readonly row: EvidenceRow }
  /**
   * Ask one probe of each of these continents and private places for a recheck; all get the same id.
   * It is published on the core bus after the commit.
   */
  | {
      readonly is: 'look';
      readonly look: string;
      readonly places: readonly Place[];
      readonly why: 'first' | 'again' | 'recovery' | 'sample' | 'confirming';
    }
  | {
      readonly is: 'ledger';
      readonly kind: 'paused' | 'unknown';
      readonly put: readonly LedgerRow[];
      readonly drop: readonly number[];
    }
  /**
   * See core/incident.ts. `down` makes rows held until `due_at`, and moves rows that are held
   * already. `up` and `closed` go to the recipients of the down, and drop held rows. `was_down`
   * tells of an outage that became known when it was over.
   */
  | {
      readonly is: 'alert';
      readonly event: 'down';
      readonly incident: string;
      readonly due_at: number;
    }
  | {
      readonly is: 'alert';
      readonly event: 'was_down';
      readonly incident: string;
      readonly due_at: number;
    }
  | {
      readonly is: 'alert';
      readonly event: 'up' | 'closed';
      readonly incident: string;
      readonly at: number;
    }
  /**
   * To the operator, once for a continent and not for each monitor: it fails there, and all other
   * continents that may check are lost (rule 14).
   */
  | { readonly is: 'notice'; readonly about: 'alone'; readonly continent: Continent }
  /** Insert or update by id; a `changed` one is told to nobody (rule 44). */
  | {
      readonly is: 'warning';
      readonly change: 'begun' | 'changed' | 'deepened' | 'ended';
      readonly warning: HeldWarning;
      readonly ended_at: number | null;
    };

export type Decision = { readonly state: MonitorState; readonly effects: readonly Effect[] };

/**
 * Params in the cause of a heartbeat's failing result, where they apply: `deadline`, the moment
 * that was missed, and `after`, the time of the ping that it counts from. Both are in milliseconds
 * since the epoch. A judgement from a ping older than the newest good one is void.
 */
export const heartbeatParams = { deadline: 'deadline', after: 'after' } as const;

/**
 * What is written behind in `checkpoints.state`. Failures are stored without their evidence: an open
 * incident has its evidence rows.
 */
export type Checkpoint = Pick<
  MonitorState,
  'views' | 'clock' | 'covered_until' | 'decides_from' | 'beat_at'
> & {
  /** What was remembered of the incident that was open. */
  readonly observed: {
    readonly incident: string;
    readonly observations: readonly Observation[];
  } | null;
};

/**
 * What a monitor's state is rebuilt from. `results`: those stored after the checkpoint, in any
 * order.
 */
export type Restoring = {
  readonly watched: Watched;
  readonly checkpoint: Checkpoint | null;
  readonly results: readonly SeenResult[];
  /** End of its last pause (ledger), or null. */
  readonly resumed_at: number | null;
  /** The open incident's row, or null. */
  readonly incident: Incident | null;
  /**
   * Of a monitor with an open incident: the failures that opened and confirmed it, and results stored
   * after the checkpoint, in any order.
   */
  readonly told?: readonly SeenResult[];
  /** Of a heartbeat: the rows of its last ended incidents, the newest first. */
  readonly closed?: readonly Incident[];
  /** The last confirmed outage that ended, if it was within the last days. */
  readonly last_down?: Outage | null;
  /** Those that have begun and not ended. */
  readonly warnings?: readonly HeldWarning[];
  /** Unknown rows of the ledger: at least those of the last days, and always the open one. */
  readonly gaps: readonly Gap[];
};
