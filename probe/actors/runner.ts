import type { Clock } from '../../shared/base/clock.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Assignment } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Result, Verdict } from '../../shared/checks/result.ts';
import type { Check, ProbeIdentity } from '../checks/check.ts';
import { type CheckDeadline, deadlineIn } from '../checks/check-deadline.ts';
import { needsVouching, reachedTarget, settle } from '../checks/fault.ts';
import type { Guard } from '../checks/guard.ts';
import { createLanes, type Lane, slowAfterMs } from './lanes.ts';
import { createPulse } from './pulse.ts';
import type { Witness } from './witness.ts';

/**
 * Performs checks: turns of the schedule and looks, never two of one monitor at once.
 *
 * Modes of a monitor: at rest → queued (waits for its lane) → checking → (if it failed below http) vouching → reported, at rest. A turn that finds its monitor
 * busy is left out. A look shares the check that it finds if that began after the look was asked, takes the place of one that
 * is only queued, and waits for one that is older.
 */
export type Runner = {
  /** A turn of this monitor has come; `at` is when it was due. */
  readonly turn: (assignment: Assignment, at: number) => void;
  /** Settles when the look has been answered. */
  readonly look: (asked: { readonly look: string; readonly asked_at: number; readonly assignment: Assignment }) => Promise<void>;
  /** How many checks run, and by how much the latest began after its turn since this was last asked. */
  readonly load: () => { readonly in_flight: number; readonly late_ms: number };
  /** Settles when the checks under way have been reported; those that take longer are cut off, and reported as nothing. */
  readonly close: () => Promise<void>;
};

type Busy = {
  readonly config_version: number;
  /** By the corrected clock; undefined while it is queued. */
  startedAt: number | undefined;
  /** The looks that this check answers. */
  readonly looks: string[];
  readonly done: Promise<void>;
  readonly settle: () => void;
};

const slotMs = 50;
const graceMs = 3_000;

/** By what name a target is known to the witness: reaching another name vouches for this one. */
const hostOf = ({ kind, target, config }: Assignment): string => {
  if (kind === 'https') return URL.parse(target)?.hostname ?? target;
  return kind === 'dns' ? `dns ${String(config.resolver ?? '')}` : kind;
};

const internalFault: Verdict = { outcome: 'unknown', cause: { class: 'probe_internal', params: {} }, phases: null, evidence: {} };

/** What the wire takes; whoever asked so often is answered all the same. */
const mostOtherLooks = 64;

export const createRunner = (options: {
  /** Kinds without a check here are left to other probes. */
  readonly checks: Readonly<Partial<Record<Kind, Check>>>;
  readonly concurrency: number;
  readonly clock: Clock;
  readonly guard: Guard;
  readonly identity: () => ProbeIdentity;
  readonly witness: Witness;
  /** The assignment with its secrets in their places. @throws when they cannot be opened. */
  readonly unseal: (assignment: Assignment) => Assignment;
  readonly report: (result: Omit<Result, 'seq'>, urgent: boolean) => void;
  /** Whether this is still what is to be checked: a turn that waited for room is not taken for a monitor that was changed or paused meanwhile. */
  readonly isCurrent?: (assignment: Assignment) => boolean;
  readonly log: Log;
}): Runner => {
  const { checks, clock, guard, identity, witness, unseal, report, isCurrent = () => true, log } = options;
  const lanes = createLanes({ concurrency: options.concurrency });
  const busy = new Map<string, Busy>();
  const pulse = createPulse(clock);
  const hosts = new WeakMap<Assignment, string>();
  /** Monitors whose last check was slow, and those whose last check here failed. */
  const slow = new Set<string>();
  const failing = new Set<string>();
  const deadlines = new Set<CheckDeadline>();
  /** The last fault of our own that was logged for a monitor. */
  const told = new Map<string, string>();
  let closing = false;
  let isCut = false;
  let lateMs = 0;

  const hostKnown = (assignment: Assignment): string => {
    const known = hosts.get(assignment);
    if (known !== undefined) return known;
    const host = hostOf(assignment);
    hosts.set(assignment, host);
    return host;
  };

  /** Whose fault it was, as far as this probe can say: a failure below http counts only with a witness. */
  const judge = async (
    verdict: Verdict,
    assignment: Assignment,
    asked: readonly string[],
    began: number,
    ended: number,
  ): Promise<Verdict> => {
    // A check that went to no address (a heartbeat's) vouches for nothing.
    if (reachedTarget(verdict) && asked.length > 0)
      witness.reached(hostKnown(assignment), ended, !asked.every((address) => guard.isOutside(address)));
    if (!needsVouching(verdict)) return verdict;
    const heldUp = pulse.heldUp(began);
    const wasRefused = verdict.cause?.class === 'connection_refused';
    const isInside = asked.length > 0 && !asked.some((address) => guard.isOutside(address));
    const vouched = await witness.vouches({ host: hostKnown(assignment), since: began, wasRefused, isInside });
    const { timeout_ms: limit_ms } = assignment;
    return settle(verdict, { vouched, overrun_ms: ended - began - limit_ms, held_up: { ...heldUp, limit_ms } });
  };

  const perform = async (
    check: Check,
    assignment: Assignment,
    asked: string[],
    startedAt: number,
    evidenceWanted: boolean,
    deadline: CheckDeadline,
  ) => {
    const allows = (address: string, port: number): boolean => {
      asked.push(address);
      return guard.allows(address, port);
    };
    try {
      const whole = assignment.sealed === null ? assignment : unseal(assignment);
      return await check({
        assignment: whole,
        started_at: startedAt,
        deadline,
        evidence_wanted: evidenceWanted,
        guard: { ...guard, allows },
        probe: identity(),
        clock,
      });
    } catch (error) {
      const { monitor, kind } = assignment;
      const text = error instanceof Error ? error.message : String(error);
      // The same fault of the same monitor comes with every check.
      if (told.get(monitor) !== text) log.error({ err: error, monitor, kind }, 'a check failed in our own code');
      told.set(monitor, text);
      return internalFault;
    }
  };

  const remember = (monitor: string, verdict: Verdict, took: number): boolean => {
    if (took > slowAfterMs) slow.add(monitor);
    else slow.delete(monitor);
    if (verdict.outcome === 'fail') {
      failing.add(monitor);
      return true;
    }
    // The first pass after failures tells of a recovery: as urgent as a failure.
    return verdict.outcome === 'ok' && failing.delete(monitor);
  };

  const run = async (entry: Busy, check: Check, assignment: Assignment): Promise<void> => {
    const { monitor, config_version } = assignment;
    if (busy.get(monitor) !== entry) return; // A look took its place while it was queued.
    if (closing) return entry.settle();
    const deadline = deadlineIn(assignment.timeout_ms);
    deadlines.add(deadline);
    const startedAt = clock.now();
    entry.startedAt = startedAt;
    const began = performance.now();
    // Every address that the check set out for.
    const asked: string[] = [];
    const seen = await perform(check, assignment, asked, startedAt, entry.looks.length > 0, deadline);
    const ended = performance.now();
    deadline.settle();
    const verdict = await judge(seen, assignment, asked, began, ended);
    deadlines.delete(deadline);
    // From here on nothing may be awaited: a look that finds this entry still adds itself to it.
    busy.delete(monitor);
    if (!closing || !isCut) {
      const took = verdict.phases?.total ?? ended - began;
      const isNews = remember(monitor, verdict, ended - began);
      const { outcome, cause, phases, evidence } = verdict;
      const [look = null, ...others] = entry.looks;
      const wanted = outcome === 'fail' || look !== null ? evidence : null;
      const result = {
        monitor,
        config_version,
        at: startedAt,
        took_ms: Math.round(took * 100) / 100,
        outcome,
        cause,
        phases,
        evidence: wanted,
        look,
        ...(others.length === 0 ? {} : { other_looks: others.slice(0, mostOtherLooks) }),
      };
      report(result, isNews || look !== null);
    }
    entry.settle();
  };

  const begin = (assignment: Assignment, check: Check, lane: Lane, looks: string[], dueAt?: number): Busy => {
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const entry: Busy = { config_version: assignment.config_version, startedAt: undefined, looks, done, settle: resolve };
    busy.set(assignment.monitor, entry);
    lanes.run(lane, async () => {
      if (dueAt !== undefined) {
        lateMs = Math.max(lateMs, clock.now() - dueAt - slotMs);
        if (busy.get(assignment.monitor) === entry && !isCurrent(assignment)) {
          busy.delete(assignment.monitor);
          return entry.settle();
        }
      }
      await run(entry, check, assignment);
    });
    return entry;
  };

  return {
    turn: (assignment, at) => {
      const check = checks[assignment.kind];
      if (!check || closing || busy.has(assignment.monitor)) return;
      begin(assignment, check, slow.has(assignment.monitor) ? 'slow' : 'fast', [], at);
    },
    look: async ({ look, asked_at, assignment }) => {
      const check = checks[assignment.kind];
      for (let found = busy.get(assignment.monitor); check && found && !closing; found = busy.get(assignment.monitor)) {
        const isSame = found.config_version === assignment.config_version;
        if (found.startedAt !== undefined && found.startedAt >= asked_at && isSame) {
          found.looks.push(look);
          return found.done;
        }
        if (found.startedAt === undefined) {
          const taken = begin(assignment, check, 'look', [...found.looks, look]);
          void taken.done.then(found.settle);
          return taken.done;
        }
        await found.done;
      }
      if (check && !closing) await begin(assignment, check, 'look', [look]).done;
    },
    load: () => {
      const load = { in_flight: lanes.inFlight(), late_ms: Math.round(lateMs) };
      lateMs = 0;
      return load;
    },
    close: async () => {
      closing = true;
      const patience = performance.now() + graceMs;
      while (lanes.inFlight() > 0 && performance.now() < patience) await new Promise((resolve) => setTimeout(resolve, 20));
      isCut = true;
      for (const deadline of deadlines) deadline.end();
      lanes.close();
      pulse.stop();
    },
  };
};
