import { memberOf } from '../../../shared/base/json.ts';
import { lastSeqOf, readBatch, resultAt } from '../../../shared/bus/batch.ts';
import { isSignedBy } from '../../../shared/bus/identity.ts';
import type { Bus } from '../../../shared/bus/nats.ts';
import { partitionConsumer, partitionCount, streams, subjects } from '../../../shared/bus/subjects.ts';
import type { Result } from '../../../shared/checks/result.ts';

/**
 * Takes results from the bus by the rules of the wire (signature, repeats, gaps, receipts) and keeps them: what a coordinator does with them
 * besides deciding.
 */
export type Taker = {
  readonly accepted: Result[];
  readonly batches: { readonly v: unknown; readonly partition: number; readonly after: number | null; readonly seqs: readonly number[] }[];
  readonly refusals: string[];
  readonly committed: () => Record<string, number>;
  /** Results are taken from the bus and answered by nothing, as if the coordinator broke before its commit, until it is set back. */
  isDeaf: boolean;
  /** How many batches it took while it was. */
  readonly lost: () => number;
  readonly stop: () => Promise<void>;
};

export const startTaker = (bus: Bus, probe: string, key: string): Taker => {
  const watermarks = new Map<string, number>();
  const accepted: Result[] = [];
  const batches: Taker['batches'] = [];
  const refusals: string[] = [];
  let generation = '';
  const committed = () =>
    Object.fromEntries([...watermarks].flatMap(([name, seq]) => (name.startsWith(generation) ? [[name.split('/')[1] ?? '', seq]] : [])));
  let lost = 0;
  const taker = { isDeaf: false };

  const pulls = Array.from({ length: partitionCount }, (_, partition) =>
    bus.pull({
      stream: streams.results.name,
      consumer: partitionConsumer(partition).name,
      batch: 16,
      onMessages: async (messages) => {
        for (const message of messages) {
          message.ack();
          if (taker.isDeaf) {
            lost += 1;
            continue;
          }
          if (!isSignedBy([key], message)) {
            refusals.push('signature');
            continue;
          }
          const body: unknown = JSON.parse(Buffer.from(message.data).toString());
          const batch = readBatch(body);
          if (!batch) {
            refusals.push('form');
            continue;
          }
          generation = batch.generation;
          const results = batch.monitors.map((_, place) => resultAt(batch, place));
          batches.push({ v: memberOf(body, 'v'), partition, after: batch.after, seqs: results.map(({ seq }) => seq) });
          const mark = watermarks.get(`${generation}/${partition}`) ?? 0;
          const isGap = batch.after !== null && batch.after > mark;
          if (!isGap) {
            accepted.push(...results.filter(({ seq }) => seq > mark));
            watermarks.set(`${generation}/${partition}`, Math.max(mark, lastSeqOf(batch)));
          }
          bus.publish(
            subjects.receipt(probe),
            JSON.stringify({ v: 1, generation, committed: committed(), again: isGap ? [partition] : [] }),
          );
        }
      },
    }),
  );
  return Object.assign(taker, {
    accepted,
    batches,
    refusals,
    committed,
    lost: () => lost,
    stop: async () => {
      await Promise.all(pulls.map((pull) => pull.stop()));
    },
  });
};
