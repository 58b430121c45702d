/**
 * In which layer a check failed (rule 2). Those below http count only if the probe vouches for
 * itself.
 */
const layers = ['dns', 'tcp', 'tls', 'http', 'assertion', 'timeout', 'heartbeat', 'probe'] as const;
export type Layer = (typeof layers)[number];

/**
 * The parameters of a cause's sentence: numbers and texts of our own or of the monitor's config,
 * never text of a target.
 */
export type CauseParams = { readonly [name: string]: string | number };

export type Cause = { readonly class: string; readonly params: CauseParams };

/** One row of the closed list of causes: its layer, and its plain sentence for users. */
export type CauseRow = {
  readonly layer: Layer;
  readonly sentence: (params: CauseParams) => string;
};

/** `unknown` is the probe's own fault: it neither opens, confirms nor closes anything (rule 1). */
export const outcomes = ['ok', 'fail', 'unknown'] as const;
export type Outcome = (typeof outcomes)[number];

/** What one place saw of an outage. */
export type Witness = {
  /** A continent, or a private place by its name. */
  readonly place: string;
  readonly outcome: Outcome;
  /** How long after the outage began; null where it is what the place sees now. */
  readonly after_ms: number | null;
};

export function isOutcome(text: unknown): text is Outcome {
  return outcomes.some((outcome) => outcome === text);
}

/**
 * What a check that passed warns of (rule 44). `code` is one of those in warnings.ts, or that of a
 * newer probe. Details are those of a cause: never text of a target.
 */
export type Warning = { readonly code: string; readonly details: CauseParams };

/**
 * The certificate that a check saw; said now and then, not with every result. The issuer's name is
 * text of a target.
 */
export type CertificateNote = {
  readonly fingerprint: string;
  readonly starts_at: number;
  readonly ends_at: number;
  readonly issuer: string;
};

/** Of what a check was served by. */
export const maxServedAddresses = 16;

/**
 * By what a check that passed was served; said now and then, not with every result. All but the
 * addresses is text of a target.
 */
export type ServedNote = {
  /** All that the names led to, each with its port. */
  readonly addresses: readonly string[];
  /** What the server calls itself. */
  readonly server: string | null;
  /** The host that it was redirected to. */
  readonly redirect: string | null;
};

/** Milliseconds of each phase; null where the check did not get that far, or has no such phase. */
export type Phases = {
  readonly dns: number | null;
  readonly tcp: number | null;
  readonly tls: number | null;
  readonly first_byte: number | null;
  readonly total: number | null;
};

/**
 * A JSON value. Evidence has no fixed shape, because each kind has its own; it is shown, never
 * interpreted.
 */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };

/**
 * What a check observed (rule 15): written by the check itself, at that moment. Text in it came
 * from a target and is never trusted.
 */
export type Evidence = { readonly [key: string]: Json };

/**
 * How a probe's newest checks of its other targets, in the last minute, fared in the layer in which
 * this check failed: it tells a target that is down from a probe that is sick (rule 46).
 */
export type OtherTargets = { readonly passed: number; readonly failed: number };

/**
 * The outcome of performing and judging one check; the reporter adds probe, time and place to make
 * a result of it.
 */
export type Verdict = {
  readonly outcome: Outcome;
  readonly cause: Cause | null;
  readonly phases: Phases | null;
  readonly evidence: Evidence;
  /** Of a pass (rule 44); absent when there is none. */
  readonly warnings?: readonly Warning[];
  readonly certificate?: CertificateNote;
  readonly served?: ServedNote;
  /** Of a failure; absent when the probe knows of no other target in that layer. */
  readonly others?: OtherTargets;
};

/**
 * One result as it is sent and stored. Its identity is (probe, generation, seq); probe and
 * generation are on the batch. `at` is when the check started, by the probe's clock corrected by
 * its measured offset; `config_version` is the checked version of the monitor. Only failures and
 * rechecks carry evidence.
 */
export type Result = {
  readonly seq: number;
  readonly monitor: string;
  readonly config_version: number;
  readonly at: number;
  readonly took_ms: number;
  readonly outcome: Outcome;
  readonly cause: Cause | null;
  readonly phases: Phases | null;
  readonly evidence: Evidence | null;
  readonly look: string | null;
  /**
   * Other rechecks that the same check answers; one check is one result for any number of requests.
   */
  readonly other_looks?: readonly string[];
  /** Of a pass (rule 44); absent when there is none. */
  readonly warnings?: readonly Warning[];
  readonly certificate?: CertificateNote;
  readonly served?: ServedNote;
  /** Of a failure. */
  readonly others?: OtherTargets;
};

export const noPhases: Phases = { dns: null, tcp: null, tls: null, first_byte: null, total: null };
