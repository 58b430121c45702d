import type { Bus } from '../../shared/bus/nats.ts';
import { type Ownership, owns } from './ownership.ts';

export const firstPartition = 0;

/**
 * Of all coordinators one leads: it alone does what must be done once, such as to publish the
 * roster. It is the one that holds the lease of the first partition, so that what divides the
 * partitions also elects it, and two never lead.
 */
export function leads(ownership: Ownership): boolean {
  return owns(ownership, firstPartition);
}

/**
 * What probes need on the bus is kept by the leader.
 *
 * Modes: `follows` → (it was elected, or the bus came back) all is made again → `leads`.
 */
export type Leadership = {
  readonly tick: () => Promise<void>;
  /** The bus may have been wiped. */
  readonly doubt: () => void;
};

export function createLeadership({
  isLeader,
  bus,
  admin,
}: {
  readonly isLeader: () => boolean;
  readonly bus: Pick<Bus, 'isConnected'>;
  readonly admin: {
    readonly ensureAll: () => Promise<void>;
    readonly growStreams: () => Promise<void>;
  };
}): Leadership {
  let mode: 'follows' | 'leads' = isLeader() ? 'leads' : 'follows';
  return {
    tick: async () => {
      if (!bus.isConnected()) return;
      const next = isLeader() ? 'leads' : 'follows';
      if (next === 'leads') await (mode === 'leads' ? admin.growStreams() : admin.ensureAll());
      mode = next;
    },
    doubt: () => {
      mode = 'follows';
    },
  };
}
