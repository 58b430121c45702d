/** Every waiting time of the engine, in milliseconds. Tests shorten them; nobody else does. */
export type Timing = {
  /** A lease lasts so long without being renewed, and is renewed so often. */
  readonly leaseMs: number;
  readonly renewMs: number;
  /** How often partitions look whether a monitor is due for a decision without an event. */
  readonly tickMs: number;
  /** A probe silent for so long is lost (rule 7). */
  readonly lostAfterMs: number;
  readonly networkTickMs: number;
  /** Results that ended longer ago tell of the past; they wait at most so long until everybody has handed over (rule 4). */
  readonly lateMs: number;
  readonly catchUpMs: number;
  /** A partition whose message takes longer is given up and begun anew, here or elsewhere. */
  readonly standstillMs: number;
  /** How often it is asked whether every part goes on, and how long one may stand before the coordinator says that it is not well. */
  readonly movementMs: number;
  readonly unmovedMs: number;
  readonly checkpointMs: number;
  readonly alertTickMs: number;
  readonly housekeepMs: number;
  /** How often a coordinator looks for outbox lines whose notification it may have missed, and reads the probes anew. */
  readonly lookAgainMs: number;
  /** How often assignments held by the probes are compared with the database. */
  readonly digestMs: number;
  /** So long a probe is left alone after everything was sent to it anew: with a server of 2.9 it finds out only after ten seconds. */
  readonly resyncMs: number;
  /** A notice of what is only ever seen to happen ends when it was not seen for so long. */
  readonly noticeQuietMs: number;
  /** So long a tombstone lies on the bus; a probe that was away for longer finds out by comparing what it holds. */
  readonly tombstoneMs: number;
};

export const usualTiming: Timing = {
  leaseMs: 6_000,
  renewMs: 1_500,
  tickMs: 100,
  lostAfterMs: 15_000,
  networkTickMs: 500,
  lateMs: 15_000,
  catchUpMs: 30_000,
  standstillMs: 30_000,
  movementMs: 2_000,
  unmovedMs: 20_000,
  checkpointMs: 60_000,
  alertTickMs: 500,
  housekeepMs: 60_000,
  lookAgainMs: 5_000,
  digestMs: 15_000,
  resyncMs: 17_000,
  noticeQuietMs: 300_000,
  tombstoneMs: 7 * 86_400_000,
};
