// Imported, because the global of this name is a getter, which costs more than the clock.
import { performance } from 'node:perf_hooks';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { signatureOf } from '../../shared/bus/identity.ts';
import {
  jsonOf,
  recheckMessage,
  type TestAnswerMessage,
  type TestRunMessage,
  testRunMessage,
} from '../../shared/bus/messages.ts';
import type { Bus, Message } from '../../shared/bus/nats.ts';
import type { Key } from '../../shared/bus/nkeys.ts';
import { subjects } from '../../shared/bus/subjects.ts';
import type { Assignment } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Outcome, Result, Verdict } from '../../shared/checks/result.ts';
import type { Guard } from '../checks/guard.ts';
import { CheckDeadline } from '../checks/limits.ts';
import type { Check, ProbeIdentity } from '../checks/types.ts';
import type { Announcements } from '../presence/announcements.ts';
import { createPulse } from '../presence/clock.ts';
import type { Assignments } from './assignments.ts';
import { createLanes, type Lane, slowAfterMs } from './lanes.ts';
import { type Checked, createOtherTargets } from './other-targets.ts';
import { createSelfCheck, hostOf, type Reachability } from './self-check.ts';

/**
 * Performs checks: scheduled turns and rechecks, never two of one monitor at once.
 *
 *   1 due      a turn has come, or the coordinator asked for a recheck     wheel.ts, createAnswers()
 *   2 enter    a lane with a free place                                    lanes.ts
 *   3 check    within its deadline, by its own guard: a verdict            checks/kinds.ts
 *   4 judge    whether the probe itself was at fault (rules 2 and 46)      self-check.ts, other-targets.ts
 *   5 report   to the spool; a new failure and its end are urgent           spool/reporter.ts
 *
 * What happens when a step fails:
 *   1  a turn that finds its monitor busy is left out. A recheck shares a check that began after it
 *      was requested, replaces one that only waits for its lane, and waits for an older one
 *   2  a turn that waited so long that its monitor is gone or changed is left out
 *   3  what a check throws fails it alone: its verdict is `unknown`, and what still runs of it stops
 *      as at its timeout. What is thrown in a turn that nobody waits for ends the process
 *   4  a failure below http that the probe cannot vouch for is `unknown`
 *   5  an error here belongs to no check, and ends the process
 *
 * Modes of a monitor: at rest → busy with one run: queued (`startedAt` is undefined) → checking →
 * (if it failed below http) judged → reported, at rest.
 *
 * Modes of the whole: running → closing (nothing begins; running checks are reported) → cut (checks
 * that still run are ended, and not reported).
 */
export function createRunner(options: RunnerOptions): Runner {
  const { checks, clock, report, isCurrent = () => true } = options;
  const lanes = createLanes(options);
  const pulse = createPulse(clock);
  const selfCheck = createSelfCheck({ ...options, pulse });
  const perform = createPerform(options);
  const lastChecks = createLastChecks();
  const tally = createTally();
  const others = createOtherTargets();
  /** Settles when other targets, of which nothing was known, have been checked. */
  let askedOthers: Promise<void> | undefined;
  /** The run of each monitor that is not at rest. */
  const busy = new Map<string, Run>();
  let mode: 'running' | 'closing' | 'cut' = 'running';
  let lateMs = 0;

  return {
    turn: (assignment, dueAt) => {
      const check = checks[assignment.kind];
      if (!check || mode !== 'running' || busy.has(assignment.monitor)) return;
      begin({
        assignment,
        check,
        lane: lastChecks.isSlow(assignment.monitor) ? 'slow' : 'fast',
        rechecks: [],
        dueAt,
      });
    },
    recheck: async ({ look: recheck, asked_at, assignment }) => {
      const check = checks[assignment.kind];
      if (!check) return;
      for (
        let other = busy.get(assignment.monitor);
        other && mode === 'running';
        other = busy.get(assignment.monitor)
      ) {
        if (isAnsweredBy(other, assignment, asked_at)) {
          other.rechecks.push(recheck);
          await other.ended;
          return;
        }
        if (other.startedAt === undefined) {
          other.replacement = begin({
            assignment,
            check,
            lane: 'recheck',
            rechecks: [...other.rechecks, recheck],
          });
          await other.replacement.ended;
          return;
        }
        await other.ended;
      }
      if (mode === 'running')
        await begin({ assignment, check, lane: 'recheck', rechecks: [recheck] }).ended;
    },
    test: async (id, assignment) => {
      const check = checks[assignment.kind];
      if (!check || mode !== 'running' || busy.has(assignment.monitor)) return undefined;
      // A recheck makes the check return its evidence.
      return begin({ assignment, check, lane: 'recheck', rechecks: [id], isTest: true }).ended;
    },
    load: () => {
      const load = { in_flight: lanes.inFlight(), late_ms: Math.round(lateMs) };
      lateMs = 0;
      return load;
    },
    tally: tally.all,
    close: async () => {
      mode = 'closing';
      const until = performance.now() + graceMs;
      while (lanes.inFlight() > 0 && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, 20));
      mode = 'cut';
      for (const { deadline } of busy.values()) deadline?.end();
      lanes.close();
    },
  };

  function begin(wanted: Wanted): Run {
    const run = new Run(wanted);
    busy.set(wanted.assignment.monitor, run);
    run.ended = runToItsEnd(run);
    return run;
  }

  /** Steps 2 to 5. */
  async function runToItsEnd(run: Run): Promise<Reported | undefined> {
    const { assignment, dueAt } = run;
    const place = await lanes.enter(run.lane);
    if (run.replacement) {
      place.leave();
      return run.replacement.ended;
    }
    const watch = pulse.watch();
    try {
      const began = performance.now();
      const startedAt = clock.now();
      if (dueAt !== undefined) lateMs = Math.max(lateMs, startedAt - dueAt - slotMs);
      if (mode !== 'running' || (dueAt !== undefined && !isCurrent(assignment))) return undefined;
      run.startedAt = startedAt;
      run.deadline = new CheckDeadline(began, began + assignment.timeout_ms);
      const guard = new RecordingGuard(options.guard);
      const verdict = await perform(run, startedAt, run.deadline, guard);
      const ended = performance.now();
      run.deadline.settle();
      const judged = await selfCheck(verdict, { assignment, asked: guard.asked, began, ended });
      const checked = { assignment, verdict: judged, began, ended };
      if (assignment.kind !== 'heartbeat') others.note(hostOf(assignment), checked);
      const vouched =
        judged.outcome === 'fail' && !run.isTest ? await withOthers(checked, judged) : judged;
      return end(run, vouched, startedAt, { began, ended });
    } finally {
      if (busy.get(assignment.monitor) === run) busy.delete(assignment.monitor);
      place.leave();
      watch.stop();
    }
  }

  /**
   * Rule 46: says with a failure how the other targets fare. Where that is not known they are
   * checked: the first failure does not wait for it, and the next one does.
   */
  async function withOthers(checked: Checked, judged: Verdict): Promise<Verdict> {
    const { assignment } = checked;
    if (assignment.kind === 'heartbeat') return judged;
    const host = hostOf(assignment);
    const before = lastChecks.failingSince(assignment.monitor);
    const failed = { ...checked, since: before ?? checked.began };
    if (askedOthers === undefined) {
      const taken = others.take(host, failed);
      if (taken.length > 0) askedOthers = checkOnce(taken);
    }
    if (askedOthers && before !== undefined) await askedOthers;
    const known = others.besides(host, { ...failed, ended: performance.now() });
    return known ? { ...judged, others: known } : judged;
  }

  /** Checks other targets beside their turns, and reports nothing of it. */
  async function checkOnce(targets: readonly Assignment[]): Promise<void> {
    const timeout_ms = Math.min(othersTakeMs, ...targets.map((target) => target.timeout_ms));
    const runs = targets.flatMap((target) => {
      const check = checks[target.kind];
      const assignment = { ...target, monitor: `${target.monitor} once`, timeout_ms };
      return check && mode === 'running'
        ? [begin({ assignment, check, lane: 'recheck', rechecks: [], isTest: true }).ended]
        : [];
    });
    await Promise.all(runs);
    askedOthers = undefined;
  }

  /** Nothing here may be awaited: a recheck that finds the run still adds itself to it. */
  function end(
    run: Run,
    verdict: Verdict,
    startedAt: number,
    { began, ended }: Pick<Checked, 'began' | 'ended'>,
  ): Reported | undefined {
    const { kind, monitor } = run.assignment;
    busy.delete(monitor);
    if (mode === 'cut') return undefined;
    tally.count(kind, verdict.outcome);
    const result = resultOf(run, verdict, startedAt, ended - began);
    if (!run.isTest) {
      const isUrgent = lastChecks.note(monitor, verdict.outcome, { began, ended });
      report(result, isUrgent || result.look !== null);
    }
    return result;
  }
}

export type RunnerOptions = PerformOptions & {
  readonly guard: Guard;
  /** Kinds without a check here are left to other probes. */
  readonly checks: Readonly<Partial<Record<Kind, Check>>>;
  readonly concurrency: number;
  readonly reachability: Reachability;
  readonly report: (result: Reported, urgent: boolean) => void;
  /** Whether this is still what to check. A monitor may be changed or paused while it waits. */
  readonly isCurrent?: (assignment: Assignment) => boolean;
};

export type Runner = {
  /** A turn of this monitor has come; `at` is when it was due. */
  readonly turn: (assignment: Assignment, at: number) => void;
  /** Settles when the recheck has been answered. */
  readonly recheck: (asked: {
    readonly look: string;
    readonly asked_at: number;
    readonly assignment: Assignment;
  }) => Promise<void>;
  /**
   * Checks once and reports nothing (rule 41); undefined when this probe cannot, or ends meanwhile.
   */
  readonly test: (id: string, assignment: Assignment) => Promise<Reported | undefined>;
  /**
   * How many checks run, and how late after its turn the latest of them began since the last call.
   */
  readonly load: () => { readonly in_flight: number; readonly late_ms: number };
  /** How many checks of each kind ended with each outcome since the start. */
  readonly tally: () => readonly Counted[];
  /**
   * Settles when the running checks have been reported; slower ones are ended, and not reported.
   */
  readonly close: () => Promise<void>;
};

type Reported = Omit<Result, 'seq'>;

/** How long a check of another target may take. */
const othersTakeMs = 2_000;

const slotMs = 50;
const graceMs = 3_000;

type Wanted = {
  readonly assignment: Assignment;
  readonly check: Check;
  readonly lane: Lane;
  /** The rechecks that it answers. */
  readonly rechecks: string[];
  /** When its turn was; undefined for a recheck. */
  readonly dueAt?: number;
  /** The result of a test run is returned, and not reported. */
  readonly isTest?: boolean;
};

/** One check of one monitor, from the request until it is over. A class costs the least memory. */
class Run {
  readonly assignment: Assignment;
  readonly check: Check;
  readonly lane: Lane;
  readonly rechecks: string[];
  readonly dueAt: number | undefined;
  readonly isTest: boolean;
  /** By the corrected clock. */
  startedAt: number | undefined;
  deadline: CheckDeadline | undefined;
  /** A recheck that took its place while it was queued. */
  replacement: Run | undefined;
  /** Settles when it is over. */
  ended: Promise<Reported | undefined> | undefined;

  constructor({ assignment, check, lane, rechecks, dueAt, isTest = false }: Wanted) {
    this.assignment = assignment;
    this.check = check;
    this.lane = lane;
    this.rechecks = rechecks;
    this.dueAt = dueAt;
    this.isTest = isTest;
  }
}

/** Whether it checks the monitor as it is now, after this moment. */
function isAnsweredBy(
  { startedAt, assignment }: Run,
  { config_version }: Assignment,
  askedAt: number,
): boolean {
  return (
    startedAt !== undefined && startedAt >= askedAt && assignment.config_version === config_version
  );
}

type PerformOptions = {
  readonly identity: () => ProbeIdentity;
  /** The assignment with its secrets opened. @throws when they cannot be opened. */
  readonly unseal: (assignment: Assignment) => Assignment;
  readonly clock: Clock;
  readonly log: Log;
};

type Perform = (
  run: Run,
  startedAt: number,
  deadline: CheckDeadline,
  guard: Guard,
) => Promise<Verdict>;

const internalFault: Verdict = {
  outcome: 'unknown',
  cause: { class: 'probe_internal', params: {} },
  phases: null,
  evidence: {},
};

/** Step 3. */
function createPerform({ identity, unseal, clock, log }: PerformOptions): Perform {
  /** The last fault of our own that was logged for a monitor. */
  const logged = new Map<string, string>();

  return async ({ check, assignment, rechecks }, startedAt, deadline, guard) => {
    try {
      return await check({
        assignment: assignment.sealed === null ? assignment : unseal(assignment),
        started_at: startedAt,
        deadline,
        evidence_wanted: rechecks.length > 0,
        guard,
        probe: identity(),
        clock,
      });
    } catch (error) {
      logFault(error, assignment);
      deadline.end();
      return internalFault;
    }
  };

  /** The same fault of the same monitor comes with every check. */
  function logFault(error: unknown, { monitor, kind }: Assignment): void {
    const text = error instanceof Error ? error.message : String(error);
    if (logged.get(monitor) !== text)
      log.error({ err: error, monitor, kind }, 'a check failed with an internal error');
    logged.set(monitor, text);
  }
}

/** The guard of one check, which records the addresses that the check tried. */
class RecordingGuard implements Guard {
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

/** The limit of the wire format; a check with more rechecks than this still answers all of them. */
const maxOtherRechecks = 64;

/** @param lastedMs by our own clock, for a check that measured nothing. */
function resultOf(
  run: Run,
  { outcome, cause, phases, evidence, warnings, certificate, served, others: besides }: Verdict,
  startedAt: number,
  lastedMs: number,
): Reported {
  const { monitor, config_version } = run.assignment;
  const [recheck = null, ...others] = run.rechecks;
  const result = {
    monitor,
    config_version,
    at: startedAt,
    took_ms: Math.round((phases?.total ?? lastedMs) * 100) / 100,
    outcome,
    cause,
    phases,
    // Only someone who asked for a recheck receives the evidence of a success.
    evidence: outcome === 'fail' || recheck !== null ? evidence : null,
    look: recheck,
    ...(warnings && { warnings }),
    ...(certificate && { certificate }),
    ...(served && { served }),
    ...(besides && { others: besides }),
  };
  return others.length === 0
    ? result
    : { ...result, other_looks: others.slice(0, maxOtherRechecks) };
}

/** A monitor that has failed for longer costs no more messages than one that passes. */
const newForMs = 60_000;

/**
 * How the last check of each monitor here went. It holds only monitors whose last check was slow or
 * failed.
 */
function createLastChecks() {
  const slow = new Set<string>();
  const failing = new Map<string, number>();
  return {
    isSlow: (monitor: string): boolean => slow.has(monitor),
    /** When the first of its failures in a row began. */
    failingSince: (monitor: string): number | undefined => failing.get(monitor),
    /** @returns whether the outcome is urgent: a new failure, or the first pass after failures. */
    note: (
      monitor: string,
      outcome: Outcome,
      { began, ended }: Pick<Checked, 'began' | 'ended'>,
    ): boolean => {
      if (ended - began > slowAfterMs) slow.add(monitor);
      else slow.delete(monitor);
      if (outcome === 'fail') {
        const since = failing.get(monitor) ?? began;
        failing.set(monitor, since);
        return began - since < newForMs;
      }
      return outcome === 'ok' && failing.delete(monitor);
    },
  };
}

type Counted = { readonly kind: Kind; readonly outcome: Outcome; readonly count: number };

/** Checks that ended since the start, by kind and outcome. */
function createTally() {
  const counts = new Map<string, Counted & { count: number }>();
  return {
    count: (kind: Kind, outcome: Outcome): void => {
      const name = `${kind} ${outcome}`;
      const counted = counts.get(name);
      if (counted) counted.count += 1;
      else counts.set(name, { kind, outcome, count: 1 });
    },
    all: (): readonly Counted[] => [...counts.values()].map((counted) => ({ ...counted })),
  };
}

type Answering = {
  readonly probe: string;
  readonly key: Key;
  readonly announcements: Pick<Announcements, 'readNow'>;
  readonly assignments: Pick<Assignments, 'find'>;
  readonly runner: Pick<Runner, 'recheck' | 'test'>;
};

/** Answers a coordinator that asks for a check now, of a monitor or as a test run. */
export function createAnswers(
  { probe, key, announcements, assignments, runner }: Answering,
  bus: Bus,
): (message: Message) => Promise<void> {
  return async (message) => {
    if (!announcements.readNow(message, subjects.look(probe))) return;
    const said = jsonOf(message.data);
    const tried = testRunMessage.safeParse(said);
    if (tried.success) return answerTrial(tried.data);
    const asked = recheckMessage.parse(said);
    // The stored copy is the same object each time, which lets a check reuse what it prepared.
    const stored = assignments.find(asked.assignment.monitor);
    const isNewer =
      stored !== undefined && stored.config_version >= asked.assignment.config_version;
    await runner.recheck({
      look: asked.look,
      asked_at: asked.asked_at,
      assignment: isNewer ? stored : asked.assignment,
    });
  };

  async function answerTrial({ trial, assignment }: TestRunMessage): Promise<void> {
    const result = await runner.test(trial, assignment);
    if (!result) return;
    const { at, took_ms, outcome, cause, phases, evidence } = result;
    const answer: TestAnswerMessage = {
      v: 1,
      probe,
      trial,
      result: {
        at,
        took_ms,
        outcome,
        phases,
        cause: cause && { ...cause, params: { ...cause.params } },
        evidence: evidence && { ...evidence },
      },
    };
    const body = Buffer.from(JSON.stringify(answer));
    bus.publish(subjects.presence(probe), body, signatureOf(key, body));
  }
}
