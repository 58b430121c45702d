import type { DecisionBatch } from './decision-batch.ts';
import { adopt, hasConfigChanges, hasRows, unitOf, unitWithCheckpoint } from './decision-commit.ts';
import type { PartitionParts } from './partition-parts.ts';
import type { Judged } from './results.ts';
import type { PartitionState } from './state.ts';

/** Commits a batch of decisions, moves memory after it, and asks for the looks that it wants. */
export const settle = async (decisions: DecisionBatch, parts: PartitionParts): Promise<void> => {
  const { writer, clock, askLooks } = parts;
  if (hasConfigChanges(decisions)) {
    await writer.commit(unitWithCheckpoint(decisions, clock.now()));
  } else if (hasRows(decisions)) await writer.commit(unitOf(decisions));
  adopt(decisions);
  if (decisions.looks.length > 0) askLooks(decisions.looks);
};

/** What was committed says something about its probes. */
export const observeAll = (state: PartitionState, judged: readonly Judged[], { observe }: PartitionParts): void => {
  // One for all of them: nobody keeps it.
  let monitor = '';
  const observed = {
    target: () => state.monitors.targetOf(monitor),
    state: () => state.monitors.stateOf(monitor),
    unwell: () => state.monitors.unwellOf(monitor),
  };
  for (const { seen } of judged) {
    monitor = seen.monitor;
    observe(seen, observed);
  }
};
