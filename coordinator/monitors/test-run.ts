import type { Config } from '../../shared/checks/assignment.ts';
import type { Secrets } from '../../shared/checks/config-secrets.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Result } from '../../shared/checks/result.ts';

/** The owner of a test run; `user` is null for the operator. */
export type TestRunOwner = { readonly organisation: string; readonly user: string | null };

/** A monitor as it would be. `like`: the stored one whose probes run the test. */
export type TestRunRequest = TestRunOwner & {
  readonly kind: Kind;
  readonly target: string;
  readonly interval_s: number;
  readonly config: Config;
  readonly places: readonly string[] | null;
  readonly secrets: Secrets;
  readonly like: { readonly id: string; readonly key: number } | undefined;
};

export type AskedProbe = { readonly continent: string; readonly probe: string };

export type TestAnswer = AskedProbe &
  Pick<Result, 'at' | 'took_ms' | 'outcome' | 'cause' | 'phases' | 'evidence'>;

/** For how long to wait, and for more answers than how many; the end always suffices. */
export type TestRunWait = { readonly known: number; readonly waitMs: number };

export type TestRunState = {
  readonly asked: readonly AskedProbe[];
  /** In the order in which they came. */
  readonly answers: readonly TestAnswer[];
  /** All have answered or timed out. */
  readonly over: boolean;
};

/** What the answers say together. A probe without a result says nothing of the target. */
export function verdictOf(
  answers: readonly Pick<TestAnswer, 'outcome'>[],
): 'ok' | 'fail' | 'mixed' | 'unknown' {
  const [passes, fails] = (['ok', 'fail'] as const).map((one) =>
    answers.some(({ outcome }) => outcome === one),
  );
  if (passes && fails) return 'mixed';
  if (passes) return 'ok';
  return fails ? 'fail' : 'unknown';
}

/**
 * Test runs of a config from every continent that could check it (rule 41). They open no incident
 * and are not stored. app.ts passes this in, because it needs the bus.
 */
export type TestRunsPart = {
  /**
   * Returns the id by which to read the answers; undefined without a bus, and while too many test
   * runs are under way.
   */
  readonly begin: (wanted: TestRunRequest) => string | undefined;
  /**
   * Resolves when there are more than `known` answers, the run is over, or the time is; undefined
   * for another owner's test run, or an old one.
   */
  readonly hear: (
    id: string,
    of: TestRunOwner,
    wait: TestRunWait,
  ) => Promise<TestRunState | undefined>;
};

/** Without a bus, nothing can be tested. */
export const noTestRuns: TestRunsPart = { begin: () => undefined, hear: async () => undefined };
