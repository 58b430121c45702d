import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createCorrectedClock, createPulse } from '../../../probe/presence/clock.ts';
import fc from '../../support/random.ts';

describe('the corrected clock', () => {
  const start = Date.UTC(2026, 10, 21);

  const create = () => {
    const host = { at: start, now: () => host.at };
    const clock = createCorrectedClock(host);
    /**
     * A question that takes `there` and `back` ms, to a coordinator whose clock is `ahead` of the
     * host's.
     */
    const ask = (ahead: number, there = 5, back = 5, taken = 0) => {
      const sent = host.at;
      host.at += there;
      const heard = host.at + ahead;
      host.at += taken;
      const theirs = host.at + ahead;
      host.at += back;
      clock.observe({ sent, received: host.at, heard, theirs });
    };
    return { host, clock, ask };
  };

  test('is the host clock until something was measured', () => {
    const { clock } = create();
    expect(clock.now()).toBe(start);
  });

  test('takes a large first difference at once', () => {
    const { host, clock, ask } = create();
    ask(-3_600_000);
    expect(clock.now()).toBe(host.at - 3_600_000);
  });

  test('comes to a small difference bit by bit, by at most a twentieth', () => {
    const { host, clock, ask } = create();
    ask(400);
    expect(clock.offset()).toBeCloseTo(0, 5);
    host.at += 2_000;
    expect(clock.offset()).toBeCloseTo(100, 5);
    host.at += 20_000;
    expect(clock.offset()).toBeCloseTo(400, 5);
  });

  test('never runs backward while differences stay small, whatever is measured', () => {
    const step = fc.record({
      wait: fc.integer({ min: 0, max: 8_000 }),
      ahead: fc.integer({ min: -450, max: 450 }),
      trip: fc.integer({ min: 0, max: 500 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const { host, clock, ask } = create();
        let last = clock.now();
        for (const { wait, ahead, trip } of steps) {
          ask(ahead, trip, trip);
          for (let part = 0; part < 10; part += 1) {
            host.at += Math.floor(wait / 10);
            const now = clock.now();
            expect(now).toBeGreaterThanOrEqual(last);
            last = now;
          }
        }
      }),
    );
  });

  test('believes the quickest answer, so that a slow way back does not put it off', () => {
    const { host, clock, ask } = create();
    ask(200, 2, 2);
    host.at += 10_000;
    expect(clock.offset()).toBeCloseTo(200, 5);
    // Two seconds on the way back alone look like a clock that is a second behind.
    ask(200, 2, 2_000);
    host.at += 60_000;
    expect(clock.offset()).toBeCloseTo(200, 5);
  });

  test('is not disturbed by a coordinator that answers slowly', () => {
    const { host, clock, ask } = create();
    ask(200, 5, 5, 1_900);
    host.at += 60_000;
    expect(clock.offset()).toBeCloseTo(200, 5);
  });

  test('follows when the host clock is set', () => {
    const { host, clock, ask } = create();
    for (let presence = 0; presence < 8; presence += 1) {
      ask(50, 1, 1);
      host.at += 5_000;
    }
    host.at += 7_200_000;
    ask(50 - 7_200_000, 20, 20);
    expect(clock.now()).toBe(host.at + 50 - 7_200_000);
  });
});

describe('a process that stalls', () => {
  /** Keeps this process from doing anything else. */
  const standStill = (ms: number): void => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  };

  test('a stretch in which the process stalled is known at once, and later, and not to later starters', async () => {
    const pulse = createPulse();
    const watch = pulse.watch();
    const began = performance.now();
    standStill(800);
    const atOnce = pulse.heldUp(began).longest;
    expect(atOnce).toBeGreaterThanOrEqual(650);
    await expect.poll(() => pulse.heldUp(performance.now()).inAll).toBeLessThan(300);
    expect(pulse.heldUp(began).longest).toBeGreaterThanOrEqual(650);
    watch.stop();
  });

  test('many short stalls, none of them long enough by itself, delay a check together, as each of its steps waits', async () => {
    const pulse = createPulse();
    const watch = pulse.watch();
    const began = performance.now();
    for (let turn = 0; turn < 20; turn++) {
      standStill(180);
      await setImmediate();
    }
    expect(pulse.heldUp(began).inAll).toBeGreaterThanOrEqual(400);
    watch.stop();
  });
});
