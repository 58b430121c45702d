import { performance } from 'node:perf_hooks';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Assignment } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Outcome, Result, Verdict } from '../../shared/checks/result.ts';
import type { Guard } from '../checks/guard.ts';
import { CheckDeadline, chargedTo, uncharged } from '../checks/limits.ts';
import type { CallbackCheck, ProbeIdentity } from '../checks/types.ts';
import { createPulse } from '../presence/clock.ts';
import { createPaces, type OnPace, type Pace, slowAfterMs } from './lanes.ts';
import { createSelfCheck, type Reachability } from './self-check.ts';

/** The limit of the wire format; a check with more rechecks than this still answers all of them. */
const maxOtherRechecks = 64;

/**
 * One check of one monitor, from the request until it is over, with all that is known about it.
 *
 * Modes: queued (`startedAt` is undefined) → checking (its deadline runs) → (if it failed below
 * http) vouching → over, reported or left out.
 */
export class CheckRun implements OnPace {
  readonly assignment: Assignment;
  readonly check: CallbackCheck;
  readonly pace: Pace;
  /** The rechecks that it answers. */
  readonly looks: string[];
  /** When its turn was; undefined for a recheck. */
  readonly dueAt: number | undefined;
  /**
   * Receives the result of a test run, and no one else does; undefined for a check, which is
   * reported.
   */
  readonly answer: ((result: Omit<Result, 'seq'>) => void) | undefined;
  mode: OnPace['mode'] = 'queued';
  began = 0;
  /** By the corrected clock. */
  startedAt: number | undefined;
  deadline: CheckDeadline | undefined;
  readonly #begin: (run: CheckRun) => void;
  /** Made only if someone waits for its end; few do. */
  #ending: PromiseWithResolvers<void> | undefined;
  #isOver = false;

  constructor(
    wanted: {
      readonly assignment: Assignment;
      readonly check: CallbackCheck;
      readonly pace: Pace;
      readonly looks: string[];
      readonly dueAt?: number;
      readonly answer?: (result: Omit<Result, 'seq'>) => void;
    },
    begin: (run: CheckRun) => void,
  ) {
    this.assignment = wanted.assignment;
    this.check = wanted.check;
    this.pace = wanted.pace;
    this.looks = wanted.looks;
    this.dueAt = wanted.dueAt;
    this.answer = wanted.answer;
    this.#begin = begin;
  }

  begin(): void {
    this.#begin(this);
  }

  /** Whether it checks the monitor as it is now, after this moment. */
  answers({ config_version }: Assignment, askedAt: number): boolean {
    return this.startedAt !== undefined && this.startedAt >= askedAt && this.assignment.config_version === config_version;
  }

  /** Settles when it is over. */
  ended(): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    this.#ending ??= Promise.withResolvers();
    return this.#ending.promise;
  }

  over(): void {
    this.#isOver = true;
    this.#ending?.resolve();
  }

  /** What is reported of it; `lastedMs`: by our own clock, for a check that measured nothing. */
  result({ outcome, cause, phases, evidence }: Verdict, startedAt: number, lastedMs: number): Omit<Result, 'seq'> {
    const [look = null, ...others] = this.looks;
    const result = {
      monitor: this.assignment.monitor,
      config_version: this.assignment.config_version,
      at: startedAt,
      took_ms: Math.round((phases?.total ?? lastedMs) * 100) / 100,
      outcome,
      cause,
      phases,
      // Only someone who asked for a recheck receives the evidence of a success.
      evidence: outcome === 'fail' || look !== null ? evidence : null,
      look,
    };
    return others.length === 0 ? result : { ...result, other_looks: others.slice(0, maxOtherRechecks) };
  }
}

/**
 * Performs checks: scheduled turns and rechecks, never two of one monitor at once.
 *
 * Modes of a monitor: at rest → busy with one `CheckRun` (queued → checking → vouching) → reported,
 * at rest. A turn that finds its monitor busy is left out. A recheck shares the running check if
 * that began after the recheck was requested, replaces one that is only queued, and waits for one
 * that is older.
 *
 * Modes of the whole: running → closing (nothing begins; running checks are reported) → cut (checks
 * that still run are ended, and not reported).
 */
export type Runner = {
  /** A turn of this monitor has come; `at` is when it was due. */
  readonly turn: (assignment: Assignment, at: number) => void;
  /** Settles when the recheck has been answered. */
  readonly look: (asked: { readonly look: string; readonly asked_at: number; readonly assignment: Assignment }) => Promise<void>;
  /**
   * Checks once and reports nothing (rule 41); undefined when this probe cannot, or ends meanwhile.
   */
  readonly try: (trial: string, assignment: Assignment) => Promise<Omit<Result, 'seq'> | undefined>;
  /**
   * How many checks run, and how late after its turn the latest of them began since the last call.
   */
  readonly load: () => { readonly in_flight: number; readonly late_ms: number };
  /** How many checks of each kind ended with each outcome since the start. */
  readonly tally: () => readonly { readonly kind: Kind; readonly outcome: Outcome; readonly count: number }[];
  /**
   * Settles when the running checks have been reported; slower ones are ended, and not reported.
   */
  readonly close: () => Promise<void>;
};

const slotMs = 50;
const graceMs = 3_000;

export function createRunner(options: {
  /** Kinds without a check here are left to other probes. */
  readonly checks: Readonly<Partial<Record<Kind, CallbackCheck>>>;
  readonly concurrency: number;
  readonly clock: Clock;
  readonly guard: Guard;
  readonly identity: () => ProbeIdentity;
  readonly reachability: Reachability;
  /** The assignment with its secrets opened. @throws when they cannot be opened. */
  readonly unseal: (assignment: Assignment) => Assignment;
  readonly report: (result: Omit<Result, 'seq'>, urgent: boolean) => void;
  /**
   * Whether this is still what to check. A turn that waited for a place is skipped if its monitor
   * was changed or paused meanwhile.
   */
  readonly isCurrent?: (assignment: Assignment) => boolean;
  readonly log: Log;
}): Runner {
  const { checks, clock, report, isCurrent = () => true } = options;
  const paces = createPaces(options);
  const pulse = createPulse(clock);
  const selfCheck = createSelfCheck({ ...options, pulse });
  const perform = createPerforming(options);
  const lastChecks = createLastChecks();
  const tally = createTally();
  /** The one check of each monitor that is not at rest. */
  const busy = new Map<string, CheckRun>();
  let mode: 'running' | 'closing' | 'cut' = 'running';
  let lateMs = 0;

  const over = (run: CheckRun): void => {
    run.over();
    paces.done(run);
  };

  /**
   * The end of a run. Nothing here may be awaited: a recheck that finds the run still adds itself
   * to it.
   */
  const conclude = (run: CheckRun, verdict: Verdict, startedAt: number, ended: number): void => {
    busy.delete(run.assignment.monitor);
    if (mode !== 'cut') {
      tally.count(run.assignment.kind, verdict.outcome);
      const lastedMs = ended - run.began;
      const result = run.result(verdict, startedAt, lastedMs);
      if (run.answer) run.answer(result);
      else report(result, lastChecks.note(run.assignment.monitor, verdict.outcome, lastedMs) || result.look !== null);
    }
    over(run);
  };

  const check = (run: CheckRun, startedAt: number): void => {
    const { assignment, began } = run;
    const deadline = new CheckDeadline(began, began + assignment.timeout_ms);
    run.startedAt = startedAt;
    run.deadline = deadline;
    perform(run, startedAt, deadline, (seen, asked) => {
      const ended = performance.now();
      deadline.settle();
      const verdict = selfCheck(seen, { assignment, asked, began, ended });
      if (verdict instanceof Promise) void verdict.then((settled) => conclude(run, settled, startedAt, ended));
      else conclude(run, verdict, startedAt, ended);
    });
  };

  const begin = (run: CheckRun): void => {
    const { assignment, dueAt } = run;
    run.began = performance.now();
    const startedAt = clock.now();
    if (dueAt !== undefined) lateMs = Math.max(lateMs, startedAt - dueAt - slotMs);
    // A recheck replaced it while it was queued; the check is over for both.
    if (busy.get(assignment.monitor) !== run) paces.done(run);
    else if (mode === 'running' && (dueAt === undefined || isCurrent(assignment))) check(run, startedAt);
    else {
      busy.delete(assignment.monitor);
      over(run);
    }
  };

  const want = (wanted: ConstructorParameters<typeof CheckRun>[0]): CheckRun => {
    const run = new CheckRun(wanted, begin);
    busy.set(wanted.assignment.monitor, run);
    paces.run(run);
    return run;
  };

  return {
    turn: (assignment, dueAt) => {
      const { kind, monitor } = assignment;
      const found = checks[kind];
      if (!found || mode !== 'running' || busy.has(monitor)) return;
      want({ assignment, check: found, pace: lastChecks.isSlow(monitor) ? 'slow' : 'fast', looks: [], dueAt });
    },
    look: async ({ look, asked_at, assignment }) => {
      const wanted = checks[assignment.kind];
      if (!wanted) return;
      for (let found = busy.get(assignment.monitor); found && mode === 'running'; found = busy.get(assignment.monitor)) {
        if (found.answers(assignment, asked_at)) {
          found.looks.push(look);
          return found.ended();
        }
        if (found.startedAt === undefined) {
          const displaced = found;
          const taken = want({ assignment, check: wanted, pace: 'look', looks: [...found.looks, look] });
          void taken.ended().then(() => displaced.over());
          return taken.ended();
        }
        await found.ended();
      }
      if (mode === 'running') await want({ assignment, check: wanted, pace: 'look', looks: [look] }).ended();
    },
    try: async (trial, assignment) => {
      const wanted = checks[assignment.kind];
      if (!wanted || mode !== 'running' || busy.has(assignment.monitor)) return undefined;
      let answered: Omit<Result, 'seq'> | undefined;
      const answer = (result: Omit<Result, 'seq'>): void => {
        answered = result;
      };
      // A recheck makes the check return its evidence.
      await want({ assignment, check: wanted, pace: 'look', looks: [trial], answer }).ended();
      return answered;
    },
    load: () => {
      const load = { in_flight: paces.inFlight(), late_ms: Math.round(lateMs) };
      lateMs = 0;
      return load;
    },
    tally: tally.all,
    close: async () => {
      mode = 'closing';
      const patience = performance.now() + graceMs;
      while (paces.inFlight() > 0 && performance.now() < patience) await new Promise((resolve) => setTimeout(resolve, 20));
      mode = 'cut';
      for (const { deadline } of busy.values()) deadline?.end();
      paces.close();
      pulse.stop();
    },
  };
}

/** The guard of one check, which records the addresses that the check tried. */
class AskedGuard implements Guard {
  readonly asked: string[] = [];
  readonly #guard: Guard;

  constructor(guard: Guard) {
    this.#guard = guard;
  }

  allows(address: string, port: number): boolean {
    this.asked.push(address);
    return this.#guard.allows(address, port);
  }

  isOutside(address: string): boolean {
    return this.#guard.isOutside(address);
  }

  isOwnLimit(...asked: Parameters<Guard['isOwnLimit']>): boolean {
    return this.#guard.isOwnLimit(...asked);
  }
}

const internalFault: Verdict = { outcome: 'unknown', cause: { class: 'probe_internal', params: {} }, phases: null, evidence: {} };

/**
 * Performs one check with what it needs of the probe. Anything it throws, at once or in a later
 * turn, is a fault of our own and becomes its verdict.
 */
export type Performing = (
  run: CheckRun,
  startedAt: number,
  deadline: CheckDeadline,
  ended: (verdict: Verdict, asked: readonly string[]) => void,
) => void;

export function createPerforming(parts: {
  readonly guard: Guard;
  readonly identity: () => ProbeIdentity;
  readonly unseal: (assignment: Assignment) => Assignment;
  readonly clock: Clock;
  readonly log: Log;
}): Performing {
  const { identity, unseal, clock, log } = parts;
  /** The last fault of our own that was logged for a monitor. */
  const told = new Map<string, string>();

  const faultOf = (error: unknown, { monitor, kind }: Assignment): Verdict => {
    const text = error instanceof Error ? error.message : String(error);
    // The same fault of the same monitor comes with every check.
    if (told.get(monitor) !== text) log.error({ err: error, monitor, kind }, 'a check failed in our own code');
    told.set(monitor, text);
    return internalFault;
  };

  return (run, startedAt, deadline, ended) => {
    const { check, assignment, looks } = run;
    const guard = new AskedGuard(parts.guard);
    let isEnded = false;
    const settled = (verdict: Verdict): void => {
      if (isEnded) return;
      isEnded = true;
      uncharged(() => ended(verdict, guard.asked));
    };
    const failed = (error: unknown): void => {
      const verdict = faultOf(error, assignment);
      if (isEnded) return;
      isEnded = true;
      // What still runs of it stops as at its timeout, and its result is ignored.
      uncharged(() => deadline.end());
      uncharged(() => ended(verdict, guard.asked));
    };
    chargedTo(failed, () => {
      const whole = assignment.sealed === null ? assignment : unseal(assignment);
      const probe = identity();
      check(
        { assignment: whole, started_at: startedAt, deadline, evidence_wanted: looks.length > 0, guard, probe, clock },
        settled,
        failed,
      );
    });
  };
}

// Imported, because the global of this name is a getter, which costs more than the clock.

/**
 * How the last check of each monitor here went. It holds only monitors whose last check was slow or
 * failed.
 */
type LastChecks = {
  readonly isSlow: (monitor: string) => boolean;
  /**
   * Returns whether the outcome is news and thus urgent: a failure, or the first pass after
   * failures.
   */
  readonly note: (monitor: string, outcome: Verdict['outcome'], lastedMs: number) => boolean;
};

function createLastChecks(): LastChecks {
  const slow = new Set<string>();
  const failing = new Set<string>();
  return {
    isSlow: (monitor) => slow.has(monitor),
    note: (monitor, outcome, lastedMs) => {
      if (lastedMs > slowAfterMs) slow.add(monitor);
      else slow.delete(monitor);
      if (outcome === 'fail') {
        failing.add(monitor);
        return true;
      }
      return outcome === 'ok' && failing.delete(monitor);
    },
  };
}

export type Counted = { readonly kind: Kind; readonly outcome: Outcome; readonly count: number };

/** Checks that ended since the start, by kind and outcome. */
export function createTally(): { readonly count: (kind: Kind, outcome: Outcome) => void; readonly all: () => readonly Counted[] } {
  const counts = new Map<string, { readonly kind: Kind; readonly outcome: Outcome; count: number }>();
  return {
    count: (kind, outcome) => {
      const name = `${kind} ${outcome}`;
      const counted = counts.get(name);
      if (counted) counted.count += 1;
      else counts.set(name, { kind, outcome, count: 1 });
    },
    all: () => [...counts.values()].map((counted) => ({ ...counted })),
  };
}
