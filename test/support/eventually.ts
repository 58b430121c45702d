import { setTimeout as pause } from 'node:timers/promises';

let patience = 1;

/** So many times as long is waited: where a part of what answers is away now and then. */
export const waitLonger = (times: number): void => {
  patience = times;
};

/** Settles with the first truthy answer; asks again until the time is over. @throws with the last answer or failure. */
export const eventually = async <Value>(
  ask: () => Value | Promise<Value>,
  withinMs = 30_000,
  everyMs = 25,
): Promise<NonNullable<Value>> => {
  const end = performance.now() + withinMs * patience;
  for (;;) {
    let last: unknown;
    try {
      const answer = await ask();
      if (answer) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() >= end) throw new Error(`did not come to be within ${withinMs * patience} ms`, { cause: last });
    await pause(everyMs);
  }
};

/** For what must not happen, or must have stood for a time: settles when so much time is over. */
export const passed = (ms: number): Promise<void> => pause(ms);
