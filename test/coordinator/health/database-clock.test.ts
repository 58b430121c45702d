import { expect, test } from 'vitest';
import { createDatabaseClock } from '../../../coordinator/health/watches.ts';

/** A machine's clock that is wrong by so much, and a database that is so far away. */
const world = (wrongMs: number) => {
  let at = 1_000;
  let wrong = wrongMs;
  const right = () => 1_790_000_000_000 + at;
  const clock = createDatabaseClock({ now: () => right() + wrong }, () => at);
  return {
    clock,
    right,
    pass: (ms: number) => {
      at += ms;
    },
    set: (ms: number) => {
      wrong = ms;
    },
    ask: (tripMs = 20) => {
      const sent = at;
      at += tripMs / 2;
      const theirs = right();
      at += tripMs / 2;
      clock.observe({ sent, received: at, theirs });
    },
  };
};

test('a clock that differs by less than 2 s is what it is, and the way of the question is no difference', () => {
  const { clock, right, ask } = world(1_900);
  ask(3_000);
  expect([clock.differenceMs(), clock.now() - right()]).toEqual([undefined, 1_900]);
});

test.each([-60_000, 60_000, -2_500, 2_500])(
  'one that differs by %i ms before anything was dated dates by the database at once',
  (wrong) => {
    const { clock, right, ask, pass } = world(wrong);
    ask(500);
    expect([clock.differenceMs(), clock.now() - right()]).toEqual([wrong, 0]);
    pass(10_000);
    expect(clock.now()).toBe(right());
  },
);

test('it begins above 2 s and ends below 1 s', () => {
  const { clock, ask, set } = world(1_500);
  ask();
  expect(clock.differenceMs()).toBeUndefined();
  set(2_100);
  ask();
  set(1_500);
  ask();
  expect(clock.differenceMs()).toBe(1_500);
  set(900);
  ask();
  expect(clock.differenceMs()).toBeUndefined();
});

test('time never runs back: what is ahead goes at half its pace until the right time is there', () => {
  const { clock, right, ask, pass, set } = world(0);
  ask();
  set(10_000);
  const jumped = clock.now();
  expect(jumped - right()).toBe(10_000);
  ask(0);
  let before = jumped;
  for (let step = 0; step < 2_000; step += 1) {
    pass(7);
    const now = clock.now();
    expect(now).toBeGreaterThanOrEqual(before);
    before = now;
  }
  expect(before - right()).toBeGreaterThan(2_500);
  pass(7_000);
  expect(clock.now()).toBe(right());
  // A machine's clock that is set back, before anybody has asked.
  const other = world(0);
  other.ask();
  const first = other.clock.now();
  other.set(-3_600_000);
  other.pass(1_000);
  expect(other.clock.now()).toBe(first + 500);
  other.ask();
  expect(other.clock.now()).toBe(other.right());
});
