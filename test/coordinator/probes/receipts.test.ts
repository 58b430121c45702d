import { afterEach, expect, test, vi } from 'vitest';
import { createReceipts } from '../../../coordinator/probes/presence.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { type ReceiptMessage, receiptMessage } from '../../../shared/bus/messages.ts';

const generation = newId();

const receipt = (committed: Record<string, number>, again: number[] = [], of = generation): ReceiptMessage =>
  receiptMessage.parse({ v: 1, generation: of, committed, again });

afterEach(() => vi.useRealTimers());

const gathering = () => {
  vi.useFakeTimers();
  const told: [string, unknown][] = [];
  const receipts = createReceipts({
    bus: { publish: (subject, data) => void told.push([subject, receiptMessage.parse(JSON.parse(String(data)))]) },
  });
  return { receipts, told };
};

test('what a probe is told of several partitions in the same moment is one receipt; other probes and generations have their own', () => {
  const { receipts, told } = gathering();
  const other = newId();
  receipts.give('receipt.a', receipt({ 1: 10 }));
  receipts.give('receipt.b', receipt({ 1: 5 }));
  receipts.give('receipt.a', receipt({ 2: 20 }, [2]));
  receipts.give('receipt.a', receipt({ 1: 7 }, [], other));
  expect(told).toEqual([]);
  vi.advanceTimersByTime(100);
  expect(told).toEqual([
    ['receipt.a', receipt({ 1: 10, 2: 20 }, [2])],
    ['receipt.b', receipt({ 1: 5 })],
    ['receipt.a', receipt({ 1: 7 }, [], other)],
  ]);
  vi.advanceTimersByTime(1_000);
  expect(told).toHaveLength(3);
});

test('what is said later of a partition holds: how far it is committed, and whether it is wanted again', () => {
  const { receipts, told } = gathering();
  receipts.give('receipt.a', receipt({ 1: 10, 2: 4 }, [1, 2]));
  receipts.give('receipt.a', receipt({ 1: 12 }));
  receipts.give('receipt.a', receipt({ 3: 1 }, [3]));
  vi.advanceTimersByTime(100);
  expect(told).toEqual([['receipt.a', receipt({ 1: 12, 2: 4, 3: 1 }, [2, 3])]]);
});

test('what waits when a coordinator ends is told before', () => {
  const { receipts, told } = gathering();
  receipts.give('receipt.a', receipt({ 1: 10 }));
  receipts.close();
  expect(told).toEqual([['receipt.a', receipt({ 1: 10 })]]);
  vi.advanceTimersByTime(1_000);
  expect(told).toHaveLength(1);
});
