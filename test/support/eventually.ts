import { setTimeout as pause } from 'node:timers/promises';

let patience = 1;

/** So many times as long is waited: where a part of what answers is away now and then. */
export const waitLonger = (times: number): void => {
  patience = times;
};

/** No question rests for longer, however long it takes. */
const longestRestMs = 1_000;

/**
 * Settles with the first truthy answer; asks again until the time is over. A question that takes
 * long is asked more seldom, so that it leaves the machine to those that are waited for. @throws with
 * the last answer or failure.
 */
export const eventually = async <Value>(
  ask: () => Value | Promise<Value>,
  withinMs = 30_000,
  everyMs = 25,
): Promise<NonNullable<Value>> => {
  const end = performance.now() + withinMs * patience;
  for (;;) {
    let last: unknown;
    const asked = performance.now();
    try {
      const answer = await ask();
      if (answer) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    const answered = performance.now();
    if (answered >= end)
      throw new Error(`did not come to be within ${withinMs * patience} ms`, { cause: last });
    await pause(Math.max(everyMs, Math.min(longestRestMs, 4 * (answered - asked))));
  }
};

/** For what must not happen, or must have stood for a time: settles when so much time is over. */
export const passed = (ms: number): Promise<void> => pause(ms);

/**
 * For test files: when this process had no turn. It is target, probe and coordinator at once, so
 * that nothing can be on time then.
 */

export type Standstill = {
  /** How long it stood still between these moments (of Date.now()). */
  readonly between: (from: number, until: number) => number;
  readonly stop: () => void;
};

const everyMs = 20;
const noticeableMs = 120;

export const watchStandstill = (): Standstill => {
  const stretches: { readonly from: number; readonly until: number }[] = [];
  let seenAt = Date.now();
  const look = (): void => {
    const now = Date.now();
    if (now - seenAt > everyMs + noticeableMs) stretches.push({ from: seenAt, until: now });
    seenAt = now;
  };
  const timer = setInterval(look, everyMs);
  return {
    between: (from, until) => {
      // One that goes on until now has not been noticed by the timer yet.
      look();
      return stretches.reduce(
        (sum, each) => sum + Math.max(0, Math.min(until, each.until) - Math.max(from, each.from)),
        0,
      );
    },
    stop: () => clearInterval(timer),
  };
};

/** As on Node 24, which has no Temporal, for as long as this runs. */
export const withoutTemporal = <Answer>(run: () => Answer): Answer => {
  const { Temporal: kept } = globalThis;
  Reflect.deleteProperty(globalThis, 'Temporal');
  const back = (): void =>
    void Object.defineProperty(globalThis, 'Temporal', {
      value: kept,
      writable: true,
      configurable: true,
    });
  let answer: Answer;
  try {
    answer = run();
  } catch (error) {
    back();
    throw error;
  }
  if (answer instanceof Promise) answer.finally(back).catch(() => undefined);
  else back();
  return answer;
};
