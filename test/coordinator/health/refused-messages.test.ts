import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createRefusals } from '../../../coordinator/health/refusals.ts';
import { gateBench } from '../../support/gate.ts';

const bench = gateBench();

test('a flood of refusals is counted whole, and does not fill the log', async () => {
  const lines: string[] = [];
  const refusals = createRefusals({ sql: bench.sql, log: pino({}, { write: (line) => void lines.push(line) }) });
  for (let nth = 0; nth < 5_000; nth += 1) refusals.count('a flooder', 'wrong_subject');
  // Who is refused for the first time is told all the same.
  refusals.count('another', 'wrong_subject');
  await refusals.flush();
  const rows = await bench.sql<{ count: number }[]>`select count from refused where probe = 'a flooder'`;
  expect(rows.map(({ count }) => Number(count))).toEqual([5_000]);
  expect(lines.length).toBeLessThanOrEqual(30);
  expect(lines.filter((line) => line.includes('another'))).toHaveLength(1);
});
