import { expect, test } from 'vitest';
import { onceChapter } from '../../../coordinator/api/openapi.ts';
import { maxRecordsOfOrganisation, shrinkIdempotencyRecords } from '../../../coordinator/gate/idempotency.ts';
import { createGroup } from '../../../shared/api/groups.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();

/** `done`, `replayed`, or the code of the refusal. */
const send = async (house: TestOrganisation, key: string, name = key): Promise<string> => {
  const named = { key, request: `createGroup ${name}` };
  try {
    const { replayed } = await bench.gate.executeOnce(createGroup, house.owner.caller, rawInput(createGroup, { name }), named);
    return replayed ? 'replayed' : 'done';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
};

test('of one organisation the newest answers are kept, up to a sum; of the others only that they were given: nothing is done twice', async () => {
  const [house, elsewhere] = [await createTestOrganisation(bench.sql), await createTestOrganisation(bench.sql)];
  await send(elsewhere, 'theirs');
  for (const key of ['1', '2', '3', '4']) {
    bench.now += 1_000;
    expect(await send(house, key)).toBe('done');
  }
  const [row] = await bench.sql<{ bytes: number }[]>`
    select sum(octet_length(answer))::int as bytes from kept_answers where organisation_id = ${house.organisation}`;
  const half = Math.ceil((row?.bytes ?? 0) / 2);
  expect(await shrinkIdempotencyRecords(bench.sql, 2 * half, 1)).toBe(false);
  for (const more of [true, true, false]) expect(await shrinkIdempotencyRecords(bench.sql, half, 1)).toBe(more);
  const again: string[] = [];
  for (const key of ['1', '2', '3', '4']) again.push(await send(house, key));
  expect(again).toEqual(['idempotency_answer_too_large', 'idempotency_answer_too_large', 'replayed', 'replayed']);
  expect(await bench.sql`select 1 from groups where organisation_id = ${house.organisation}`).toHaveLength(4);
  expect([await send(elsewhere, 'theirs'), await send(house, '1', 'else')]).toEqual(['replayed', 'idempotency_key_reused']);
});

test('the page of the API says how much is kept', () => {
  expect(onceChapter()).toContain(`the newest ${maxRecordsOfOrganisation / 1024 / 1024} MiB`);
});
