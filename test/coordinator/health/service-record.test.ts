import { beforeAll, describe, expect, test } from 'vitest';
import { inTransaction } from '../../../coordinator/database/sql.ts';
import {
  createServiceRecord,
  settledDays,
  sumOf,
} from '../../../coordinator/health/service-record.ts';
import { sayOutageFalse } from '../../../coordinator/operator/contract.ts';
import { writeDropped } from '../../../coordinator/probes/queries.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { operations } from '../../../shared/api/index.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { storeChecks } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

/** Yesterday but one, at noon; the clock stands two days later. */
const noon = Date.UTC(2026, 10, 20, 12);
const now = noon + 2 * 86_400_000;
const hour = 3_600_000;

test('a day is settled an hour and ten minutes after its end, and none is counted whose raw results are gone', () => {
  expect(settledDays(Date.UTC(2026, 10, 22, 1, 9), 7).at(-1)).toBe('2026-11-20');
  expect(settledDays(Date.UTC(2026, 10, 22, 1, 10), 7)).toEqual([
    '2026-11-16',
    '2026-11-17',
    '2026-11-18',
    '2026-11-19',
    '2026-11-20',
    '2026-11-21',
  ]);
  expect(settledDays(now, 1)).toEqual([]);
});

test('the sum of no days is nothing, and no figure', () => {
  expect(sumOf([])).toMatchObject({ confirmed: 0, p50_ms: null, p95_ms: null });
});

const bench = gateBench();
let house: TestOrganisation;
let monitor: string;
let probes: Record<string, string>;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
  probes = {
    Europe: await bench.addProbe('Europe'),
    Asia: await bench.addProbe('Asia'),
    Africa: await bench.addProbe('Africa'),
  };
  monitor = (
    await bench.call(operations.createMonitor, house.owner, {
      type: 'https',
      target: 'https://shop.example/',
      interval_s: 300,
    })
  ).id;
  await inTransaction(bench.sql, (transaction) =>
    makeResultDays(transaction, noon - hour, noon + hour),
  );
});

/**
 * An outage that Europe saw and Asia confirmed; it took so long from the first failing check to the
 * commit.
 */
const outage = async (at: number, took_ms: number, others?: 'agree' | 'pass'): Promise<string> => {
  const id = newId();
  await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_continent, confirmed_continent)
    values (${id}, ${house.organisation}, ${monitor}, ${new Date(at)}, ${new Date(at + 500)}, ${new Date(at + 60_000)}, 'Europe', 'Asia')`;
  await bench.sql`insert into alerts (organisation_id, monitor_id, incident_id, event, state, created_at)
    values (${house.organisation}, ${monitor}, ${id}, 'down', 'sent', ${new Date(at + took_ms)})`;
  if (others !== undefined)
    await bench.sql`insert into incident_evidence (incident_id, part, continent, probe, at, outcome, took_ms)
      values (${id}, 'matrix', 'Africa', 'A', ${new Date(at)}, 0, 10)`;
  if (others === 'agree')
    await storeChecks(bench.sql, monitor, [
      { probe: probes.Africa ?? '', at: at + 600_000, outcome: 'fail' },
    ]);
  return id;
};

const record = (readers: 'everyone' | 'users' | 'nobody', isLeader = true) =>
  createServiceRecord({
    sql: bench.sql,
    results: bench.results,
    clock: { now: () => now },
    rawDays: 7,
    isLeader: () => isLeader,
    readers,
  });

describe('the service record', () => {
  test('counts a day from what is stored: how long it took, who agreed, what was lost, what was out', async () => {
    const early = await outage(noon - 3 * hour, 1_000);
    await outage(noon - 2 * hour, 2_000, 'pass');
    await outage(noon - hour, 9_000, 'agree');
    // Of another day.
    await outage(noon + 86_400_000, 60_000);
    await bench.sql`insert into notices (kind, subject, message, began_at, ended_at)
      values ('probe_lost', ${probes.Asia ?? ''}, 'x', ${new Date(noon)}, ${new Date(noon + 90_000)}),
        ('probe_twice', ${probes.Asia ?? ''}, 'x', ${new Date(noon)}, ${new Date(noon + 90_000)})`;
    await bench.sql`insert into own_losses (day, results) values ('2026-11-20', 12)`;
    const own = record('everyone');
    await own.tick();
    const day = own.shown(false)?.days.find((each) => each.day === '2026-11-20');
    expect(day).toEqual({
      day: '2026-11-20',
      confirmed: 3,
      p50_ms: 2_000,
      p95_ms: 9_000,
      doubted: 1,
      false_by_word: 0,
      results_lost: 12,
      own_outages: 1,
      own_outage_s: 90,
    });
    const say = (is_false: boolean) =>
      bench.gate.executeForInstallation(
        sayOutageFalse,
        rawInput(sayOutageFalse, { incident_id: early, is_false }),
      );
    expect((await say(true)).body).toMatchObject({ incident: early, is_false: true });
    await own.tick();
    expect(own.shown(false)?.sum).toMatchObject({
      confirmed: 4,
      false_by_word: 1,
      doubted: 1,
      own_outage_s: 90,
    });
    await say(false);
    await own.tick();
    expect(own.shown(false)?.sum.false_by_word).toBe(0);
  });

  test('is counted once, and by one coordinator', async () => {
    await bench.sql`delete from own_days`;
    const follower = record('everyone', false);
    await follower.tick();
    expect(follower.shown(false)?.days).toEqual([]);
    const leader = record('everyone');
    await leader.tick();
    await bench.sql`delete from alerts`;
    await leader.tick();
    expect(leader.shown(false)?.sum.confirmed).toBe(4);
  });

  test('is readable by those whom the operator allows', () => {
    expect(record('nobody').shown(true)).toBeUndefined();
    expect(record('users').shown(false)).toBeUndefined();
    expect(record('users').shown(true)).toBeDefined();
    expect(record('everyone').shown(false)).toBeDefined();
  });

  test('knows no outage that was not confirmed', async () => {
    const ask = bench.gate.executeForInstallation(
      sayOutageFalse,
      rawInput(sayOutageFalse, { incident_id: newId() }),
    );
    await expect(ask).rejects.toMatchObject({ code: 'incident_not_found' });
  });

  test('counts what public probes drop as they say more of it, and nothing twice', async () => {
    await bench.sql`delete from own_losses`;
    const [first, second] = [newId(), newId()];
    for (const [session, dropped] of [
      [first, 5],
      [first, 5],
      [first, 8],
      [second, 2],
    ] as const)
      await writeDropped(bench.sql, probes.Europe ?? '', session, dropped);
    expect(await bench.sql`select sum(results)::int as lost from own_losses`).toEqual([
      { lost: 10 },
    ]);
  });
});
