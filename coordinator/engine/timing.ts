import { lostAfter } from '../core/outage.ts';

/** Every waiting time of the engine, in milliseconds. Only tests shorten them. */
export type Timing = {
  /** How long a lease holds without being renewed, and how often it is renewed. */
  readonly leaseMs: number;
  readonly renewMs: number;
  /** How often partitions check whether a monitor needs a decision without an event. */
  readonly tickMs: number;
  /** A probe that is silent for this long is lost (rule 7). */
  readonly lostAfterMs: number;
  readonly networkTickMs: number;
  /**
   * Results that ended longer ago are of the past; they wait at most this long until all probes
   * have delivered theirs (rule 4).
   */
  readonly lateMs: number;
  readonly catchUpMs: number;
  /**
   * A partition whose message takes longer has stalled: it is given up and started again, here or
   * elsewhere.
   */
  readonly stallMs: number;
  /**
   * How often the watchdog asks whether every subject makes progress, and how long one may stall
   * before the coordinator reports that it is unhealthy.
   */
  readonly watchdogMs: number;
  readonly stalledMs: number;
  readonly checkpointMs: number;
  /** How often a partition writes the chunks of hours that are over, and of late checks of them. */
  readonly sealMs: number;
  readonly alertTickMs: number;
  readonly housekeepMs: number;
  /**
   * How often a coordinator looks for outbox rows whose notification it may have missed, and reads
   * the probes again.
   */
  readonly refreshMs: number;
  /** How often assignments held by the probes are compared with the database. */
  readonly digestMs: number;
  /**
   * How long a probe is left alone after everything was sent to it again: it may notice only after
   * ten seconds.
   */
  readonly resyncMs: number;
  /** A notice about recurring events ends when none was seen for this long. */
  readonly noticeQuietMs: number;
  /** How often whoever watches this installation hears that it decides (rule 53). */
  readonly signOfLifeMs: number;
  /**
   * How long a deletion marker stays on the bus; a probe that was away for longer finds out by
   * comparing what it holds.
   */
  readonly tombstoneMs: number;
};

export const usualTiming: Timing = {
  leaseMs: 6_000,
  renewMs: 1_500,
  tickMs: 100,
  lostAfterMs: lostAfter,
  networkTickMs: 500,
  lateMs: 15_000,
  catchUpMs: 30_000,
  stallMs: 30_000,
  watchdogMs: 2_000,
  stalledMs: 20_000,
  checkpointMs: 60_000,
  sealMs: 60_000,
  alertTickMs: 500,
  housekeepMs: 60_000,
  refreshMs: 5_000,
  digestMs: 15_000,
  resyncMs: 17_000,
  noticeQuietMs: 300_000,
  signOfLifeMs: 60_000,
  tombstoneMs: 7 * 86_400_000,
};

/** The longest that a ping that creates a monitor waits for its turn before it is looked at again. */
export const longestTurnMs = 60_000;
