import { expect, test } from 'vitest';
import { enqueue, markDone, partitionsWaiting } from '../../../coordinator/database/outbox.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase();

const change = (partition: number) =>
  enqueue(sql, {
    topic: 'monitor',
    payload: { monitor: newId(), change: 'edited', what_is_checked_changed: true },
    partition,
    organisation: null,
  });
const all = Array.from({ length: 32 }, (_, partition) => partition);

test('one question tells which of the partitions have lines that wait: those with changes and those with messages to work on again', async () => {
  expect(await partitionsWaiting(sql, all)).toEqual([]);
  await change(3);
  await change(3);
  await change(7);
  await enqueue(sql, { topic: 'set_aside', payload: { id: 1 }, partition: 31, organisation: null });
  await enqueue(sql, { topic: 'probe', payload: { probe: newId(), change: 'created' }, partition: null, organisation: null });
  expect((await partitionsWaiting(sql, all)).toSorted((a, b) => a - b)).toEqual([3, 7, 31]);
  expect(await partitionsWaiting(sql, [7, 8])).toEqual([7]);
  expect(await partitionsWaiting(sql, [])).toEqual([]);
  const lines = await sql<{ id: number }[]>`select id from outbox where partition = 7`;
  await markDone(
    sql,
    lines.map(({ id }) => id),
  );
  expect((await partitionsWaiting(sql, all)).toSorted((a, b) => a - b)).toEqual([3, 31]);
});
