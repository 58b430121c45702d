import type { ReceiptMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';

/**
 * Tells probes how far their results are committed: one receipt for all partitions that a probe hears of in the same moment, because it sends
 * to all of them in the same moment, and is woken for each message as it comes. Nobody waits for a receipt.
 *
 * Modes: `empty` → `gathering` (a receipt waits for those of other partitions) → `empty`; `closed` (what waited has been told).
 */
export type Receipts = {
  readonly give: (subject: string, receipt: ReceiptMessage) => void;
  readonly close: () => void;
};

const gatherMs = 100;

/** What is said later of a partition holds. */
const merged = (before: ReceiptMessage, after: ReceiptMessage): ReceiptMessage => ({
  ...after,
  committed: { ...before.committed, ...after.committed },
  again: [...before.again.filter((partition) => !(partition in after.committed)), ...after.again],
});

export const createReceipts = ({ bus }: { readonly bus: Pick<Bus, 'publish'> }): Receipts => {
  let gathered = new Map<string, readonly [subject: string, receipt: ReceiptMessage]>();
  let timer: NodeJS.Timeout | undefined;

  const tell = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const all = gathered;
    gathered = new Map();
    for (const [subject, receipt] of all.values()) bus.publish(subject, JSON.stringify(receipt));
  };

  return {
    give: (subject, receipt) => {
      const name = `${subject} ${receipt.generation}`;
      const before = gathered.get(name);
      gathered.set(name, [subject, before ? merged(before[1], receipt) : receipt]);
      timer ??= setTimeout(tell, gatherMs);
    },
    close: tell,
  };
};
