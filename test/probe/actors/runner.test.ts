import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRunner, type Runner } from '../../../probe/actors/runner.ts';
import { createWitness } from '../../../probe/actors/witness.ts';
import type { CheckContext } from '../../../probe/checks/check.ts';
import { createGuard } from '../../../probe/checks/guard.ts';
import type { Assignment } from '../../../shared/checks/assignment.ts';
import { noPhases, type Result, type Verdict } from '../../../shared/checks/result.ts';
import { silentLog } from '../support/bus-of-probe.ts';
import { assignmentOf } from '../support/small-coordinator.ts';

type Started = {
  readonly context: CheckContext;
  readonly end: (verdict?: Partial<Verdict>) => void;
  readonly fail: (error: Error) => void;
};

let started: Started[];
let reported: { result: Omit<Result, 'seq'>; urgent: boolean }[];
let runner: Runner;
let reachable: boolean;
const gone = new Set<string>();
const clock = { at: 1_000_000, now: () => clock.at };

const good: Verdict = { outcome: 'ok', cause: null, phases: null, evidence: { seen: 'body' } };
const down: Verdict = {
  outcome: 'fail',
  cause: { class: 'connection_refused', params: {} },
  phases: noPhases,
  evidence: { seen: 'reset' },
};
const badStatus: Verdict = { ...down, cause: { class: 'unexpected_status', params: { status: 500, expected: '2xx' } } };

/** Checks that end when the test says so. */
const start = (concurrency = 40): void => {
  runner = createRunner({
    checks: {
      https: (context) =>
        new Promise((resolve, reject) => {
          started.push({ context, end: (verdict) => resolve({ ...good, ...verdict }), fail: reject });
          context.deadline.addEventListener('abort', () => resolve({ ...down, cause: { class: 'timed_out', params: {} } }));
        }),
    },
    concurrency,
    clock,
    guard: createGuard({ allow: [], bus: () => [], own: () => [] }),
    identity: () => ({ name: 'eu-1', continent: 'Europe', base_url: '', version: '1' }),
    witness: createWitness({ anchors: () => [], busRoundTrip: () => (reachable ? Promise.resolve() : Promise.reject(new Error('away'))) }),
    unseal: (assignment) => {
      if (assignment.sealed !== 'right') throw new Error('no key');
      return { ...assignment, config: { ...assignment.config, bearer_token: 'open' } };
    },
    report: (result, urgent) => reported.push({ result, urgent }),
    isCurrent: ({ monitor }) => !gone.has(monitor),
    log: silentLog,
  });
};

const turn = (assignment: Assignment): void => runner.turn(assignment, clock.at - 50);
const waitFor = { timeout: 5_000, interval: 5 };
const untilReported = (count: number) => expect.poll(() => reported.length, waitFor).toBe(count);
const untilStarted = (count: number) => expect.poll(() => started.length, waitFor).toBe(count);

beforeEach(() => {
  started = [];
  reported = [];
  reachable = true;
  clock.at = 1_000_000;
  start();
});
afterEach(async () => {
  for (const { end } of started) end();
  await runner.close();
});

describe('a turn', () => {
  test('is reported with the time of its start, without evidence of a success, and not urgently', async () => {
    const mine = assignmentOf('https://a.example/');
    turn(mine);
    await untilStarted(1);
    clock.at += 40;
    started[0]?.end({ phases: { ...noPhases, total: 38.456 } });
    await untilReported(1);
    expect(reported[0]).toEqual({
      urgent: false,
      result: {
        monitor: mine.monitor,
        config_version: 1,
        at: 1_000_000,
        took_ms: 38.46,
        outcome: 'ok',
        cause: null,
        phases: { ...noPhases, total: 38.456 },
        evidence: null,
        look: null,
      },
    });
  });

  test('is left out while an earlier check of the monitor runs', async () => {
    const mine = assignmentOf('https://a.example/');
    turn(mine);
    turn(mine);
    await untilStarted(1);
    turn(mine);
    started[0]?.end();
    await untilReported(1);
    expect(started).toHaveLength(1);
    turn(mine);
    await untilStarted(2);
  });

  test('that fails is urgent and carries its evidence, and so is the first that passes again', async () => {
    const mine = assignmentOf('https://a.example/');
    for (const [index, verdict] of [badStatus, badStatus, good, good].entries()) {
      turn(mine);
      await untilStarted(index + 1);
      started[index]?.end(verdict);
      await untilReported(index + 1);
    }
    expect(reported.map(({ urgent }) => urgent)).toEqual([true, true, true, false]);
    expect(reported.map(({ result }) => result.evidence)).toEqual([{ seen: 'reset' }, { seen: 'reset' }, null, null]);
  });

  test('that fails below http is the probe’s own fault when it reaches nothing else', async () => {
    reachable = false;
    turn(assignmentOf('https://a.example/'));
    await untilStarted(1);
    started[0]?.end(down);
    await untilReported(1);
    expect(reported[0]).toMatchObject({ urgent: false, result: { outcome: 'unknown', cause: { class: 'probe_unvouched' } } });
  });

  test('that fails below http counts when another host answered meanwhile', async () => {
    reachable = false;
    turn(assignmentOf('https://a.example/'));
    turn(assignmentOf('https://b.example/'));
    await untilStarted(2);
    started[1]?.end();
    await untilReported(1);
    started[0]?.end(down);
    await untilReported(2);
    expect(reported[1]?.result).toMatchObject({ outcome: 'fail', cause: { class: 'connection_refused' } });
  });

  test('ends at the time limit of its monitor', async () => {
    turn(assignmentOf('https://a.example/', { timeout_ms: 60 }));
    await untilReported(1);
    expect(reported[0]?.result).toMatchObject({ outcome: 'fail', cause: { class: 'timed_out' } });
  });

  test('that breaks in our own code is unknown, and the next one is tried', async () => {
    const mine = assignmentOf('https://a.example/');
    turn(mine);
    await untilStarted(1);
    started[0]?.fail(new Error('a bug'));
    await untilReported(1);
    expect(reported[0]?.result).toMatchObject({ outcome: 'unknown', cause: { class: 'probe_internal' } });
    turn(mine);
    await untilStarted(2);
  });

  test('has its secrets for the check alone, and is unknown when they cannot be opened', async () => {
    turn(assignmentOf('https://a.example/', { sealed: 'right' }));
    await untilStarted(1);
    expect(started[0]?.context.assignment.config.bearer_token).toBe('open');
    turn(assignmentOf('https://b.example/', { sealed: 'wrong' }));
    await untilReported(1);
    expect(reported[0]?.result).toMatchObject({ outcome: 'unknown', cause: { class: 'probe_internal' } });
  });

  test('of a kind that this probe cannot check is left to others', () => {
    turn(assignmentOf('example.com', { kind: 'dns' }));
    expect(runner.canCheck('dns')).toBe(false);
    expect(runner.load().in_flight).toBe(0);
  });
});

describe('a look', () => {
  const lookAt = (assignment: Assignment, look: string, askedAt = clock.at) => runner.look({ look, asked_at: askedAt, assignment });

  test('is answered urgently and with evidence, also when it is good', async () => {
    const answered = lookAt(assignmentOf('https://a.example/'), 'one');
    await untilStarted(1);
    expect(started[0]?.context.evidence_wanted).toBe(true);
    started[0]?.end();
    await answered;
    expect(reported).toMatchObject([{ urgent: true, result: { look: 'one', evidence: { seen: 'body' } } }]);
  });

  test('shares a check that began after it was asked', async () => {
    const mine = assignmentOf('https://a.example/');
    turn(mine);
    await untilStarted(1);
    const answered = Promise.all([lookAt(mine, 'one', clock.at - 10), lookAt(mine, 'two', clock.at)]);
    started[0]?.end();
    await answered;
    expect(started).toHaveLength(1);
    expect(reported.map(({ result }) => result.look)).toEqual(['one', 'two']);
    expect(new Set(reported.map(({ result }) => result.at)).size).toBe(1);
  });

  test('waits for a check that began before, and then looks itself', async () => {
    const mine = assignmentOf('https://a.example/');
    turn(mine);
    await untilStarted(1);
    clock.at += 500;
    const answered = Promise.all([lookAt(mine, 'one'), lookAt(mine, 'two')]);
    started[0]?.end();
    await untilStarted(2);
    started[1]?.end();
    await answered;
    expect(reported.map(({ result }) => [result.look, result.at])).toEqual([
      [null, 1_000_000],
      ['one', 1_000_500],
      ['two', 1_000_500],
    ]);
  });

  test('does not share a check of another version of the monitor', async () => {
    const mine = assignmentOf('https://a.example/');
    turn(mine);
    await untilStarted(1);
    const answered = lookAt({ ...mine, config_version: 2 }, 'one', clock.at - 10);
    started[0]?.end();
    await untilStarted(2);
    started[1]?.end();
    await answered;
    expect(reported.map(({ result }) => [result.look, result.config_version])).toEqual([
      [null, 1],
      ['one', 2],
    ]);
  });

  test('takes the place of a turn that only waits for room', async () => {
    await runner.close();
    start(8);
    const full = [1, 2].map((number) => assignmentOf(`https://busy-${number}.example/`, { timeout_ms: 60_000 }));
    for (const one of full) turn(one);
    await untilStarted(2);
    const mine = assignmentOf('https://a.example/');
    turn(mine);
    const answered = lookAt(mine, 'one');
    await untilStarted(3);
    started[2]?.end();
    await answered;
    for (const index of [0, 1]) started[index]?.end();
    await untilReported(3);
    expect(reported.map(({ result }) => result.look)).toEqual(['one', null, null]);
    expect(started).toHaveLength(3);
  });

  test('has room although turns fill all lanes', async () => {
    await runner.close();
    start(8);
    for (let number = 0; number < 50; number += 1) turn(assignmentOf(`https://busy-${number}.example/`, { timeout_ms: 60_000 }));
    await untilStarted(2);
    const answered = lookAt(assignmentOf('https://a.example/'), 'one');
    await untilStarted(3);
    started[2]?.end();
    await answered;
  });
});

describe('lanes', () => {
  test('keep the number of checks at once within bounds', async () => {
    await runner.close();
    start(40);
    for (let number = 0; number < 500; number += 1) turn(assignmentOf(`https://t-${number}.example/`, { timeout_ms: 60_000 }));
    await untilStarted(10);
    // Overdue checks give their places back, up to as many again.
    await expect.poll(() => started.length, { timeout: 4_000, interval: 20 }).toBe(20);
    expect(runner.load().in_flight).toBe(20);
  });

  test('do not take a turn that waited so long that its monitor is gone', async () => {
    await runner.close();
    start(8);
    const full = [1, 2].map((number) => assignmentOf(`https://busy-${number}.example/`, { timeout_ms: 60_000 }));
    for (const one of full) turn(one);
    await untilStarted(2);
    const deleted = assignmentOf('https://deleted.example/');
    const kept = assignmentOf('https://kept.example/');
    turn(deleted);
    turn(kept);
    gone.add(deleted.monitor);
    for (const index of [0, 1]) started[index]?.end();
    await untilStarted(3);
    expect(started[2]?.context.assignment.target).toBe('https://kept.example/');
  });

  test('let fast targets pass while slow ones hang', async () => {
    await runner.close();
    start(40);
    const slow = Array.from({ length: 30 }, (_, number) => assignmentOf(`https://slow-${number}.example/`, { timeout_ms: 1_100 }));
    for (const one of slow) turn(one);
    // They all run into their limit once; from then on they are known to be slow and have their own lane.
    await untilReported(30);
    for (const one of slow) turn(one);
    await untilStarted(40);
    const before = started.length;
    const fast = Array.from({ length: 10 }, (_, number) => assignmentOf(`https://fast-${number}.example/`));
    for (const one of fast) turn(one);
    await untilStarted(before + 10);
    expect(started.slice(before).every(({ context }) => context.assignment.target.includes('fast'))).toBe(true);
  });
});

describe('a runner that closes', () => {
  test('reports what ends within its grace, and begins nothing more', async () => {
    turn(assignmentOf('https://a.example/'));
    await untilStarted(1);
    const closing = runner.close();
    turn(assignmentOf('https://b.example/'));
    started[0]?.end();
    await closing;
    expect(started).toHaveLength(1);
    expect(reported).toHaveLength(1);
  });

  test('cuts off what takes longer, and reports nothing of it', async () => {
    turn(assignmentOf('https://a.example/', { timeout_ms: 60_000 }));
    await untilStarted(1);
    await runner.close();
    await expect.poll(() => started[0]?.context.deadline.aborted, waitFor).toBe(true);
    expect(reported).toEqual([]);
  });
});
