import type { TakenResults } from '../../../probe/spool/segments.ts';
import type { Spool } from '../../../probe/spool/store.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { batchText, readBatch, resultAt } from '../../../shared/bus/batch.ts';
import type { Result } from '../../../shared/checks/result.ts';

/** The id of a monitor of this partition. */
export const monitorIn = (partition: number, number = 0): string =>
  `00000000-0000-4000-8000-${(number * 32 + partition).toString(16).padStart(12, '0')}`;

export const resultOf = (
  monitor: string,
  at: number,
  more: Partial<Result> = {},
): Omit<Result, 'seq'> => ({
  monitor,
  config_version: 1,
  at,
  took_ms: 12.5,
  outcome: 'ok',
  cause: null,
  phases: null,
  evidence: null,
  look: null,
  ...more,
});

/** For test files: what a spool gives, read as the bus and a reporter read it. */

/** What it gives, as whoever reads it on the bus takes it. */
export const told = (taken: TakenResults | undefined): readonly Result[] => {
  const head = { probe: newId(), generation: newId(), partition: 0, after: null };
  const batch = readBatch(JSON.parse(batchText(head, taken?.texts ?? [])));
  return batch?.monitors.map((_, place) => resultAt(batch, place)) ?? [];
};

/** All that waits in a partition, taken as a reporter takes it. */
export const drain = async (
  spool: Spool,
  partition: number,
): Promise<{ seqs: number[]; ats: number[]; afters: (number | null)[] }> => {
  const seqs: number[] = [];
  const ats: number[] = [];
  const afters: (number | null)[] = [];
  for (let seq = 0; ; ) {
    const taken = await spool.take(partition, seq);
    if (!taken) return { seqs, ats, afters };
    afters.push(taken.after);
    for (const { seq, at } of told(taken)) {
      seqs.push(seq);
      ats.push(at);
    }
    seq = taken.last;
  }
};
