import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { needsSelfCheck, reachedTarget, settle } from '../../../probe/schedule/self-check.ts';
import { causeLayer, causeSentence } from '../../../shared/checks/causes.ts';
import { connectionCauses } from '../../../shared/checks/connection/causes.ts';
import { dnsCauses } from '../../../shared/checks/dns/causes.ts';
import { heartbeatCauses } from '../../../shared/checks/heartbeat/causes.ts';
import { httpsCauses } from '../../../shared/checks/https/causes.ts';
import { type Cause, noPhases, type Outcome, type Verdict } from '../../../shared/checks/result.ts';
import { assignmentOf } from '../support/checkers.ts';
import {
  badStatus,
  down,
  good,
  type HandRunner,
  startHandRunner,
} from '../support/surroundings.ts';

describe('runner', () => {
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

    test('is skipped while an earlier check of the monitor runs', async () => {
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
      expect(hand.reported.map(({ result }) => result.evidence)).toEqual([
        { seen: 'reset' },
        { seen: 'reset' },
        null,
        null,
      ]);
    });

    test('that fails for over a minute is no news any more, but its end is', async () => {
      const now = performance.now.bind(performance);
      let ahead = 0;
      const spy = vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
      try {
        const mine = assignmentOf('https://a.example/');
        for (const [index, verdict] of [badStatus, badStatus, badStatus, good].entries()) {
          hand.turn(mine);
          await hand.untilStarted(index + 1);
          hand.started[index]?.end(verdict);
          await hand.untilReported(index + 1);
          ahead += 30_000;
        }
      } finally {
        spy.mockRestore();
      }
      expect(hand.reported.map(({ urgent }) => urgent)).toEqual([true, true, false, true]);
    });

    test('that fails below http is the probe’s own fault when it reaches nothing else', async () => {
      hand.isReachable = false;
      hand.turn(assignmentOf('https://a.example/'));
      await hand.untilStarted(1);
      hand.started[0]?.end(down);
      await hand.untilReported(1);
      expect(hand.reported[0]).toMatchObject({
        urgent: false,
        result: { outcome: 'unknown', cause: { class: 'probe_unvouched' } },
      });
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
      expect(hand.reported[1]?.result).toMatchObject({
        outcome: 'fail',
        cause: { class: 'connection_refused' },
      });
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
      expect(hand.reported[1]?.result).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_unvouched' },
      });
      hand.started[2]?.end(down);
      await hand.untilReported(3);
      expect(hand.reported[2]?.result).toMatchObject({
        outcome: 'fail',
        cause: { class: 'connection_refused' },
      });
    });

    test('ends at the time limit of its monitor', async () => {
      hand.turn(assignmentOf('https://a.example/', { timeout_ms: 60 }));
      await hand.untilReported(1);
      expect(hand.reported[0]?.result).toMatchObject({
        outcome: 'fail',
        cause: { class: 'timed_out' },
      });
    });

    test('that breaks in our own code is unknown, and the next one runs', async () => {
      const mine = assignmentOf('https://a.example/');
      hand.turn(mine);
      await hand.untilStarted(1);
      hand.started[0]?.fail(new Error('a bug'));
      await hand.untilReported(1);
      expect(hand.reported[0]?.result).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_internal' },
      });
      hand.turn(mine);
      await hand.untilStarted(2);
    });

    test('has its secrets for the check alone, and is unknown when they cannot be opened', async () => {
      hand.turn(assignmentOf('https://a.example/', { sealed: 'right' }));
      await hand.untilStarted(1);
      expect(hand.started[0]?.context.assignment.config.bearer_token).toBe('open');
      hand.turn(assignmentOf('https://b.example/', { sealed: 'wrong' }));
      await hand.untilReported(1);
      expect(hand.reported[0]?.result).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_internal' },
      });
    });

    test('of a kind that this probe cannot check is left to others', () => {
      hand.turn(assignmentOf('example.com', { kind: 'dns' }));
      expect(hand.runner.load().in_flight).toBe(0);
    });
  });

  describe('lanes', () => {
    test('keep the number of checks at once within bounds', async () => {
      await hand.close();
      hand = startHandRunner(40);
      for (let number = 0; number < 500; number += 1)
        hand.turn(assignmentOf(`https://t-${number}.example/`, { timeout_ms: 60_000 }));
      await hand.untilStarted(10);
      // Overdue checks give their places back, up to as many again.
      await expect.poll(() => hand.started.length, { timeout: 30_000, interval: 20 }).toBe(20);
      expect(hand.runner.load().in_flight).toBe(20);
    });

    test('skip a turn that waited so long that its monitor is gone', async () => {
      await hand.close();
      hand = startHandRunner(8);
      const full = [1, 2].map((number) =>
        assignmentOf(`https://busy-${number}.example/`, { timeout_ms: 60_000 }),
      );
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
      const slow = Array.from({ length: 30 }, (_, number) =>
        // With a secret, so that none is checked beside its turns (rule 46).
        assignmentOf(`https://slow-${number}.example/`, { timeout_ms: 1_100, sealed: 'right' }),
      );
      for (const one of slow) hand.turn(one);
      // They all run into their limit once; from then on they are known to be slow and have their
      // own pace.
      await hand.untilReported(30);
      for (const one of slow) hand.turn(one);
      await hand.untilStarted(40);
      const before = hand.started.length;
      const fast = Array.from({ length: 10 }, (_, number) =>
        assignmentOf(`https://fast-${number}.example/`),
      );
      for (const one of fast) hand.turn(one);
      await hand.untilStarted(before + 10);
      expect(
        hand.started
          .slice(before)
          .every(({ context }) => context.assignment.target.includes('fast')),
      ).toBe(true);
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
      await expect
        .poll(() => hand.started[0]?.context.deadline.isOver(), { timeout: 40_000, interval: 5 })
        .toBe(true);
      expect(hand.reported).toEqual([]);
    });
  });
});

describe('whose fault', () => {
  const verdict = (outcome: Outcome, name?: string): Verdict => {
    const cause: Cause | null = name === undefined ? null : { class: name, params: {} };
    return { outcome, cause, phases: noPhases, evidence: { seen: 1 } };
  };

  describe('a failure below http counts only if the probe vouches for itself', () => {
    test.each(['name_not_found', 'connection_refused', 'certificate_expired', 'timed_out'])(
      '%s',
      (name) => {
        const failed = verdict('fail', name);
        expect(needsSelfCheck(failed)).toBe(true);
        expect(reachedTarget(failed)).toBe(false);
        expect(settle(failed, { reached_other: true })).toBe(failed);
        expect(settle(failed, { reached_other: false })).toMatchObject({
          outcome: 'unknown',
          cause: { class: 'probe_unvouched' },
          evidence: { seen: 1, would_be: name },
        });
      },
    );

    test.each(['unexpected_status', 'response_malformed', 'body_lacks', 'redirect_loop'])(
      '%s is an answer, and counts by itself',
      (name) => {
        const failed = verdict('fail', name);
        expect(needsSelfCheck(failed)).toBe(false);
        expect(reachedTarget(failed)).toBe(true);
        expect(settle(failed, { reached_other: false, overrun_ms: 60_000 })).toBe(failed);
      },
    );

    test('a pass or an unknown result stays as it is', () => {
      for (const one of [verdict('ok'), verdict('unknown', 'probe_internal')])
        expect(settle(one, { reached_other: false })).toBe(one);
      expect(reachedTarget(verdict('ok'))).toBe(true);
      expect(reachedTarget(verdict('unknown', 'probe_internal'))).toBe(false);
    });

    test('an unknown result, or a failure without a cause, vouches for none', () => {
      for (const one of [
        verdict('unknown', 'timed_out'),
        verdict('unknown', 'unexpected_status'),
        verdict('fail'),
      ]) {
        expect(needsSelfCheck(one)).toBe(false);
        expect(reachedTarget(one)).toBe(false);
        expect(settle(one, { reached_other: false })).toBe(one);
      }
    });

    test('an answer of the probe’s own resolver may come from its cache, and vouches for none', () => {
      for (const said of [verdict('ok'), verdict('fail', 'unexpected_status')]) {
        expect(
          reachedTarget({ ...said, evidence: { resolver: { address: '127.0.0.1', own: true } } }),
        ).toBe(false);
        for (const resolver of [
          { address: '192.0.2.1', own: false },
          { address: '192.0.2.1' },
          null,
          'own',
        ])
          expect(reachedTarget({ ...said, evidence: { resolver } })).toBe(true);
      }
    });

    test('a result that becomes unknown keeps its evidence', () => {
      expect(settle(verdict('fail', 'timed_out'), { reached_other: false })).toEqual({
        outcome: 'unknown',
        cause: { class: 'probe_unvouched', params: {} },
        phases: noPhases,
        evidence: { seen: 1, would_be: 'timed_out' },
      });
    });

    test('a check that the probe itself delayed proves nothing about its target', () => {
      const failed = verdict('fail', 'timed_out');
      expect(settle(failed, { reached_other: true, overrun_ms: 1_001 })).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_held_up' },
      });
      expect(settle(failed, { reached_other: true, overrun_ms: 1_000 })).toBe(failed);
    });
  });

  const heldUp = { outcome: 'unknown', cause: { class: 'probe_held_up' } };

  test('a check during which the probe stalled for a fifth of the time limit proves nothing either', () => {
    const refused = verdict('fail', 'connection_refused');
    expect(
      settle(refused, {
        reached_other: true,
        held_up: { longest: 2_001, inAll: 2_001, limit_ms: 10_000 },
      }),
    ).toMatchObject(heldUp);
    expect(
      settle(refused, {
        reached_other: true,
        held_up: { longest: 2_000, inAll: 2_000, limit_ms: 10_000 },
      }),
    ).toBe(refused);
    const told = verdict('fail', 'unexpected_status');
    expect(
      settle(told, {
        reached_other: true,
        held_up: { longest: 9_000, inAll: 9_000, limit_ms: 10_000 },
      }),
    ).toBe(told);
  });

  test('a silence is the probe’s own, too, when its steps waited for it as long together; an explicit answer of the target counts', () => {
    const slow = { longest: 300, inAll: 2_001, limit_ms: 10_000 };
    for (const silence of ['timed_out', 'dns_silent'])
      expect(
        settle(verdict('fail', silence), { reached_other: true, held_up: slow }),
      ).toMatchObject(heldUp);
    for (const said of ['connection_refused', 'connection_reset', 'certificate_self_signed']) {
      const failed = verdict('fail', said);
      expect(settle(failed, { reached_other: true, held_up: slow })).toBe(failed);
    }
  });

  describe('the closed list of causes', () => {
    test('names each class once over all kinds, so that none hides another', () => {
      const names = [connectionCauses, httpsCauses, dnsCauses, heartbeatCauses].flatMap((table) =>
        Object.keys(table),
      );
      expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
    });

    test('has a sentence for a class of a newer version too', () => {
      expect(causeSentence({ class: 'quantum_noise', params: {} })).toBe('Failed (quantum noise)');
      expect(causeLayer({ class: 'constructor', params: {} })).toBe('assertion');
    });
  });
});
