import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noPhases } from '../../../shared/checks/result.ts';
import { assignmentOf } from '../support/checkers.ts';
import { badStatus, down, good, type HandRunner, startHandRunner } from '../support/surroundings.ts';

let hand: HandRunner;

beforeEach(() => {
  hand = startHandRunner();
});
afterEach(() => hand.close());

describe('a turn', () => {
  test('is reported with the time of its start, without evidence of a success, and not urgently', async () => {
    const mine = assignmentOf('https://a.example/');
    hand.turn(mine);
    await hand.untilStarted(1);
    hand.clock.at += 40;
    hand.started[0]?.end({ phases: { ...noPhases, total: 38.456 } });
    await hand.untilReported(1);
    expect(hand.reported[0]).toEqual({
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
    hand.turn(mine);
    hand.turn(mine);
    await hand.untilStarted(1);
    hand.turn(mine);
    hand.started[0]?.end();
    await hand.untilReported(1);
    expect(hand.started).toHaveLength(1);
    hand.turn(mine);
    await hand.untilStarted(2);
  });

  test('that fails is urgent and carries its evidence, and so is the first that passes again', async () => {
    const mine = assignmentOf('https://a.example/');
    for (const [index, verdict] of [badStatus, badStatus, good, good].entries()) {
      hand.turn(mine);
      await hand.untilStarted(index + 1);
      hand.started[index]?.end(verdict);
      await hand.untilReported(index + 1);
    }
    expect(hand.reported.map(({ urgent }) => urgent)).toEqual([true, true, true, false]);
    expect(hand.runner.tally()).toEqual([
      { kind: 'https', outcome: 'fail', count: 2 },
      { kind: 'https', outcome: 'ok', count: 2 },
    ]);
    expect(hand.reported.map(({ result }) => result.evidence)).toEqual([{ seen: 'reset' }, { seen: 'reset' }, null, null]);
  });

  test('that fails below http is the probe’s own fault when it reaches nothing else', async () => {
    hand.isReachable = false;
    hand.turn(assignmentOf('https://a.example/'));
    await hand.untilStarted(1);
    hand.started[0]?.end(down);
    await hand.untilReported(1);
    expect(hand.reported[0]).toMatchObject({ urgent: false, result: { outcome: 'unknown', cause: { class: 'probe_unvouched' } } });
  });

  test('that fails below http counts when another host answered meanwhile', async () => {
    hand.isReachable = false;
    hand.turn(assignmentOf('https://a.example/'));
    hand.turn(assignmentOf('https://b.example/'));
    await hand.untilStarted(2);
    hand.started[1]?.end();
    await hand.untilReported(1);
    hand.started[0]?.end(down);
    await hand.untilReported(2);
    expect(hand.reported[1]?.result).toMatchObject({ outcome: 'fail', cause: { class: 'connection_refused' } });
  });

  test('that fails outside does not count for what answered inside the probe’s own network; one that fails inside does', async () => {
    hand.isReachable = false;
    hand.turn(assignmentOf('https://a.example/'));
    hand.turn(assignmentOf('https://127.0.0.2/'));
    hand.turn(assignmentOf('https://127.0.0.3/'));
    await hand.untilStarted(3);
    hand.started[1]?.end();
    await hand.untilReported(1);
    hand.started[0]?.end(down);
    await hand.untilReported(2);
    expect(hand.reported[1]?.result).toMatchObject({ outcome: 'unknown', cause: { class: 'probe_unvouched' } });
    hand.started[2]?.end(down);
    await hand.untilReported(3);
    expect(hand.reported[2]?.result).toMatchObject({ outcome: 'fail', cause: { class: 'connection_refused' } });
  });

  test('ends at the time limit of its monitor', async () => {
    hand.turn(assignmentOf('https://a.example/', { timeout_ms: 60 }));
    await hand.untilReported(1);
    expect(hand.reported[0]?.result).toMatchObject({ outcome: 'fail', cause: { class: 'timed_out' } });
  });

  test('that breaks in our own code is unknown, and the next one is tried', async () => {
    const mine = assignmentOf('https://a.example/');
    hand.turn(mine);
    await hand.untilStarted(1);
    hand.started[0]?.fail(new Error('a bug'));
    await hand.untilReported(1);
    expect(hand.reported[0]?.result).toMatchObject({ outcome: 'unknown', cause: { class: 'probe_internal' } });
    hand.turn(mine);
    await hand.untilStarted(2);
  });

  test('has its secrets for the check alone, and is unknown when they cannot be opened', async () => {
    hand.turn(assignmentOf('https://a.example/', { sealed: 'right' }));
    await hand.untilStarted(1);
    expect(hand.started[0]?.context.assignment.config.bearer_token).toBe('open');
    hand.turn(assignmentOf('https://b.example/', { sealed: 'wrong' }));
    await hand.untilReported(1);
    expect(hand.reported[0]?.result).toMatchObject({ outcome: 'unknown', cause: { class: 'probe_internal' } });
  });

  test('of a kind that this probe cannot check is left to others', () => {
    hand.turn(assignmentOf('example.com', { kind: 'dns' }));
    expect(hand.runner.load().in_flight).toBe(0);
  });
});

describe('paces', () => {
  test('keep the number of checks at once within bounds', async () => {
    await hand.close();
    hand = startHandRunner(40);
    for (let number = 0; number < 500; number += 1) hand.turn(assignmentOf(`https://t-${number}.example/`, { timeout_ms: 60_000 }));
    await hand.untilStarted(10);
    // Overdue checks give their places back, up to as many again.
    await expect.poll(() => hand.started.length, { timeout: 30_000, interval: 20 }).toBe(20);
    expect(hand.runner.load().in_flight).toBe(20);
  });

  test('do not take a turn that waited so long that its monitor is gone', async () => {
    await hand.close();
    hand = startHandRunner(8);
    const full = [1, 2].map((number) => assignmentOf(`https://busy-${number}.example/`, { timeout_ms: 60_000 }));
    for (const one of full) hand.turn(one);
    await hand.untilStarted(2);
    const deleted = assignmentOf('https://deleted.example/');
    const kept = assignmentOf('https://kept.example/');
    hand.turn(deleted);
    hand.turn(kept);
    hand.gone.add(deleted.monitor);
    for (const index of [0, 1]) hand.started[index]?.end();
    await hand.untilStarted(3);
    expect(hand.started[2]?.context.assignment.target).toBe('https://kept.example/');
  });

  test('let fast targets pass while slow ones hang', async () => {
    await hand.close();
    hand = startHandRunner(40);
    const slow = Array.from({ length: 30 }, (_, number) => assignmentOf(`https://slow-${number}.example/`, { timeout_ms: 1_100 }));
    for (const one of slow) hand.turn(one);
    // They all run into their limit once; from then on they are known to be slow and have their own pace.
    await hand.untilReported(30);
    for (const one of slow) hand.turn(one);
    await hand.untilStarted(40);
    const before = hand.started.length;
    const fast = Array.from({ length: 10 }, (_, number) => assignmentOf(`https://fast-${number}.example/`));
    for (const one of fast) hand.turn(one);
    await hand.untilStarted(before + 10);
    expect(hand.started.slice(before).every(({ context }) => context.assignment.target.includes('fast'))).toBe(true);
  });
});

describe('a runner that closes', () => {
  test('reports what ends within its grace, and begins nothing more', async () => {
    hand.turn(assignmentOf('https://a.example/'));
    await hand.untilStarted(1);
    const closing = hand.runner.close();
    hand.turn(assignmentOf('https://b.example/'));
    hand.started[0]?.end();
    await closing;
    expect(hand.started).toHaveLength(1);
    expect(hand.reported).toHaveLength(1);
  });

  test('cuts off what takes longer, and reports nothing of it', async () => {
    hand.turn(assignmentOf('https://a.example/', { timeout_ms: 60_000 }));
    await hand.untilStarted(1);
    await hand.runner.close();
    await expect.poll(() => hand.started[0]?.context.deadline.isOver(), { timeout: 40_000, interval: 5 }).toBe(true);
    expect(hand.reported).toEqual([]);
  });
});
