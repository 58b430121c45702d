import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Assignment } from '../../../shared/checks/assignment.ts';
import { assignmentOf } from '../support/checkers.ts';
import { type HandRunner, startHandRunner } from '../support/surroundings.ts';

let hand: HandRunner;

beforeEach(() => {
  hand = startHandRunner();
});
afterEach(() => hand.close());

describe('a recheck', () => {
  const lookAt = (assignment: Assignment, recheck: string, askedAt = hand.clock.at) =>
    hand.runner.recheck({ look: recheck, asked_at: askedAt, assignment });

  test('is answered urgently and with evidence, also for a pass', async () => {
    const answered = lookAt(assignmentOf('https://a.example/'), 'one');
    await hand.untilStarted(1);
    expect(hand.started[0]?.context.evidence_wanted).toBe(true);
    hand.started[0]?.end();
    await answered;
    expect(hand.reported).toMatchObject([
      { urgent: true, result: { look: 'one', evidence: { seen: 'body' } } },
    ]);
  });

  test('shares a check that began after it was asked', async () => {
    const mine = assignmentOf('https://a.example/');
    hand.turn(mine);
    await hand.untilStarted(1);
    const answered = Promise.all([
      lookAt(mine, 'one', hand.clock.at - 10),
      lookAt(mine, 'two', hand.clock.at),
    ]);
    hand.started[0]?.end();
    await answered;
    expect(hand.started).toHaveLength(1);
    // One check is one result: two would be counted twice.
    expect(hand.reported).toMatchObject([
      { urgent: true, result: { look: 'one', other_looks: ['two'] } },
    ]);
  });

  test('waits for a check that began before, and then checks itself', async () => {
    const mine = assignmentOf('https://a.example/');
    hand.turn(mine);
    await hand.untilStarted(1);
    hand.clock.at += 500;
    const answered = Promise.all([lookAt(mine, 'one'), lookAt(mine, 'two')]);
    hand.started[0]?.end();
    await hand.untilStarted(2);
    hand.started[1]?.end();
    await answered;
    expect(hand.reported.map(({ result }) => [result.look, result.at])).toEqual([
      [null, 1_000_000],
      ['one', 1_000_500],
    ]);
    expect(hand.reported[1]?.result.other_looks).toEqual(['two']);
  });

  test('does not share a check of another version of the monitor', async () => {
    const mine = assignmentOf('https://a.example/');
    hand.turn(mine);
    await hand.untilStarted(1);
    const answered = lookAt({ ...mine, config_version: 2 }, 'one', hand.clock.at - 10);
    hand.started[0]?.end();
    await hand.untilStarted(2);
    hand.started[1]?.end();
    await answered;
    expect(hand.reported.map(({ result }) => [result.look, result.config_version])).toEqual([
      [null, 1],
      ['one', 2],
    ]);
  });

  test('takes the place of a turn that only waits for room', async () => {
    await hand.close();
    hand = startHandRunner(8);
    const full = [1, 2].map((number) =>
      assignmentOf(`https://busy-${number}.example/`, { timeout_ms: 60_000 }),
    );
    for (const one of full) hand.turn(one);
    await hand.untilStarted(2);
    const mine = assignmentOf('https://a.example/');
    hand.turn(mine);
    const answered = lookAt(mine, 'one');
    await hand.untilStarted(3);
    hand.started[2]?.end();
    await answered;
    for (const index of [0, 1]) hand.started[index]?.end();
    await hand.untilReported(3);
    expect(hand.reported.map(({ result }) => result.look)).toEqual(['one', null, null]);
    expect(hand.started).toHaveLength(3);
  });

  test('has room although turns fill all lanes', async () => {
    await hand.close();
    hand = startHandRunner(8);
    for (let number = 0; number < 50; number += 1)
      hand.turn(assignmentOf(`https://busy-${number}.example/`, { timeout_ms: 60_000 }));
    await hand.untilStarted(2);
    const answered = lookAt(assignmentOf('https://a.example/'), 'one');
    await hand.untilStarted(3);
    hand.started[2]?.end();
    await answered;
  });
});
