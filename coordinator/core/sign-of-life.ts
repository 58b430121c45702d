/** What the leader knows of the installation's work; `_ms` is how long ago, null: never. */
export type SignsOfWork = {
  readonly bus: boolean;
  /** Whether every stream has a leader, and what waits in it is read. */
  readonly streams: boolean;
  /** Whether every partition has an owner, and those of the leader move. */
  readonly partitions: boolean;
  /** When a probe was heard. */
  readonly heard_ms: number;
  /** The newest commit of the leader, and that of the partition whose own is the oldest. */
  readonly committed_ms: number;
  readonly all_committed_ms: number | null;
  /** The newest commit of what probes checked. */
  readonly result_ms: number | null;
  /** The shortest interval of what they are to check, and for how long it has been that. */
  readonly expected: { readonly interval_ms: number; readonly for_ms: number } | undefined;
  /** The oldest alert that is due, where none is being sent. */
  readonly alert_ms: number | null;
};

/** How long ago each may be. */
export type SignPatience = {
  readonly heardMs: number;
  readonly allCommittedMs: number;
  /** Of the leader's commit, an alert, and a check beyond its interval. */
  readonly lateMs: number;
};

/**
 * Why nobody is told now that the installation decides (rule 53); undefined: they are told.
 * @param signs Undefined while the database does not answer.
 */
export function whySilent(
  signs: SignsOfWork | undefined,
  { heardMs, allCommittedMs, lateMs }: SignPatience,
): string | undefined {
  if (signs === undefined) return 'the database does not answer';
  const { expected, alert_ms } = signs;
  if (!signs.bus) return 'the bus cannot be reached';
  if (!signs.streams) return 'streams of the bus have no leader, or are not read';
  if (!signs.partitions) return 'not every partition is worked on';
  if (signs.heard_ms > heardMs) return 'no probe is heard';
  if (signs.committed_ms > lateMs) return 'the database takes no decisions';
  if (signs.all_committed_ms === null || signs.all_committed_ms > allCommittedMs)
    return 'a partition commits no decisions';
  if (
    expected !== undefined &&
    Math.min(signs.result_ms ?? expected.for_ms, expected.for_ms) > expected.interval_ms + lateMs
  )
    return 'no checks come in';
  return alert_ms !== null && alert_ms > lateMs ? 'alerts do not leave' : undefined;
}
