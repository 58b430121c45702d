import type { Assignment } from '../../shared/checks/checks-assignment.ts';
import type { Result, Verdict } from '../../shared/checks/checks-result.ts';
import type { ToldCheck } from '../checks/check.ts';
import type { CheckDeadline } from '../checks/check-deadline.ts';
import type { OnPace, Pace } from './checking-paces.ts';

/** What the wire takes; whoever asked so often is answered all the same. */
const mostOtherLooks = 64;

/**
 * One check of one monitor, from the moment that it is wanted until it is over: what is known of it, for those who do it.
 *
 * Modes: queued (`startedAt` is undefined) → checking (its deadline runs) → (if it failed below http) vouching → over, reported or left out.
 */
export class CheckRun implements OnPace {
  readonly assignment: Assignment;
  readonly check: ToldCheck;
  readonly pace: Pace;
  /** The looks that it answers. */
  readonly looks: string[];
  /** When its turn was; undefined for a look. */
  readonly dueAt: number | undefined;
  /** Who alone is told what a trial came to; undefined for a check, which is reported. */
  readonly answer: ((result: Omit<Result, 'seq'>) => void) | undefined;
  mode: OnPace['mode'] = 'queued';
  began = 0;
  /** By the corrected clock. */
  startedAt: number | undefined;
  deadline: CheckDeadline | undefined;
  readonly #begin: (run: CheckRun) => void;
  /** Made for those who wait for its end; few have any. */
  #ending: PromiseWithResolvers<void> | undefined;
  #isOver = false;

  constructor(
    wanted: {
      readonly assignment: Assignment;
      readonly check: ToldCheck;
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

  /** Whether it saw the monitor as it is now, after this moment. */
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
      // Of a success only who asked for a look is shown what was seen.
      evidence: outcome === 'fail' || look !== null ? evidence : null,
      look,
    };
    return others.length === 0 ? result : { ...result, other_looks: others.slice(0, mostOtherLooks) };
  }
}
