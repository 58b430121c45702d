import type { Bus } from '../../shared/bus/nats.ts';
import { partitionConsumer, pingsConsumer, streams } from '../../shared/bus/subjects.ts';
import { type Part, readerOf } from '../house/house-movement-of-parts.ts';
import type { Timing } from '../house/house-waiting-times.ts';
import type { Partitions } from './partition-shares.ts';

/** The parts of a coordinator that are to go on: each partition of its own, and what it reads for it from the bus. */
export const createPartitionMovement = (options: {
  readonly bus: Bus;
  readonly partitions: Partitions;
  readonly timing: Timing;
}): (() => readonly Part[]) => {
  const { bus, partitions, timing } = options;
  const known = new Map<number, readonly Part[]>();
  const { unmovedMs, catchUpMs } = timing;

  const reader = (stream: string, consumer: string): Part => ({
    name: `stream ${consumer}`,
    // What tells of the past is left there while others may hand over what belongs before it.
    mayStandMs: unmovedMs + catchUpMs,
    moved: readerOf(async () => {
      const state = await bus.consumerState(stream, consumer);
      return state && { waiting: state.pending + state.unacknowledged, acknowledged: state.acknowledged };
    }),
  });

  const partsOf = (partition: number): readonly Part[] => [
    { name: `partition ${partition}`, mayStandMs: unmovedMs, moved: () => partitions.pass(partition).then(() => true) },
    reader(streams.results.name, partitionConsumer(partition).name),
    reader(streams.pings.name, pingsConsumer(partition).name),
  ];

  return () => {
    const mine = new Set(partitions.held());
    for (const partition of known.keys()) if (!mine.has(partition)) known.delete(partition);
    for (const partition of mine) if (!known.has(partition)) known.set(partition, partsOf(partition));
    return [...known.values()].flat();
  };
};
