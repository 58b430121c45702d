import { readBatch } from '../../shared/bus/batch.ts';
import { strictJsonOf } from '../../shared/bus/messages.ts';
import { isPassing } from '../store/store-database.ts';
import { Fenced } from '../store/store-leases.ts';
import { markDone, waitingLines } from '../store/store-outbox.ts';
import { dropSetAside, keepSetAside, setAsideById } from '../store/store-set-aside.ts';
import type { PartitionParts } from './partition-parts.ts';
import { find, receiveBatches } from './partition-results.ts';
import { settle } from './partition-settle.ts';
import type { PartitionState } from './partition-state.ts';

/**
 * The generation that a message counts under when it is worked on again: its own says already that it is over and done with. One for each
 * message, so that a second time (after a crash between the two writes) is told as a repeat.
 */
const generationOf = (id: number): string => `00000000-0000-4000-8000-${id.toString(16).padStart(12, '0')}`;

/** Who sent it was judged when it came; what it says is decided about as any late result. @throws why it cannot be. */
const workOnBatch = async (state: PartitionState, id: number, data: Uint8Array, parts: PartitionParts): Promise<void> => {
  const batch = readBatch(strictJsonOf(data));
  if (!batch || batch.partition !== state.lease.partition) throw new Error('it is no batch of results of this partition');
  const probe = await parts.directory.find(batch.probe);
  if (!probe) throw new Error(`there is no probe ${batch.probe}`);
  const { decisions, refused } = receiveBatches(
    state,
    [find({ probe, batch: { ...batch, generation: generationOf(id), after: null } }, state.monitors)],
    parts,
  );
  await settle(decisions, parts);
  for (const one of refused) parts.refusals.count(one.probe, one.reason);
};

/** Works once more on what the operator asked for. What cannot be worked on this time either stays set aside. */
export const retryAsked = async (state: PartitionState, parts: PartitionParts): Promise<void> => {
  const { sql, bus, log } = parts;
  for (const line of await waitingLines(sql, 'set_aside', state.lease.partition, 100)) {
    const { id } = line.payload;
    const aside = await setAsideById(sql, id);
    if (aside) {
      const { subject, data } = aside;
      const isPing = subject.startsWith('beat.');
      if (isPing && !bus.isConnected()) return;
      try {
        // A ping that comes twice is one ping, so it may simply come again.
        if (isPing) await bus.store(subject, data);
        else await workOnBatch(state, id, data, parts);
        await dropSetAside(sql, id);
        log.info({ id, subject }, 'a message that was set aside is worked on after all');
      } catch (error) {
        if (error instanceof Fenced || isPassing(error)) throw error;
        log.error({ err: error, id, subject }, 'a message that was set aside cannot be worked on this time either');
        await keepSetAside(sql, id, error instanceof Error ? error.message : String(error));
      }
    }
    await markDone(sql, [line.id]);
  }
};
