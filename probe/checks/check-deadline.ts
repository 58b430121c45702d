import { performance } from 'node:perf_hooks';
import { type Charged, chargedNow, chargedTo } from './check-own-fault.ts';
import { type Alarm, clearAlarm, setAlarm } from './check-timers.ts';

const nothing = (): void => undefined;

/** What is to be stopped when the time is over. */
export type Expiring = { readonly expire: () => void };

/**
 * The end of a check's time: when the monitor's time limit is over, or when the probe stops. An object with an alarm that is set only once
 * somebody listens, because an AbortController and a timer for each check cost as much as reading its answer.
 *
 * Modes: running → over (the limit came, or `end`: all that listen are told, once) | settled (the check ended before: nobody is told any more).
 */
export class CheckDeadline implements Alarm {
  /** When its time began to run, by `performance.now()`. */
  readonly began: number;
  due: number;
  place = -1;
  /** Of a check in steps: what the end of the time stops. A step ignores it once it is over itself. */
  stop = nothing;
  #ended = false;
  /** Whose check it is: alarms ring in a turn that all checks share. */
  #charged: Charged | undefined;
  /** Most checks have one listener; further ones stand in the list. */
  #listener: Expiring | undefined;
  #further: Expiring[] | undefined;

  constructor(began: number, due: number) {
    this.began = began;
    this.due = due;
  }

  /** Where an alarm is set, only once it has rung: what arrived while this process was late is read before. */
  isOver(now = performance.now()): boolean {
    return this.#ended || (this.place < 0 && now >= this.due);
  }

  /** Whoever listens when it is over already is not told any more, and asks. */
  listen(listener: Expiring): void {
    this.#ended = this.isOver();
    this.attend(listener);
    if (this.place < 0 && !this.#ended) setAlarm(this, this.due);
  }

  /** For a listener with an alarm of its own, which minds the time itself: it is told only if the time is ended sooner. */
  attend(listener: Expiring): void {
    this.#charged ??= chargedNow();
    if (this.#listener === undefined) this.#listener = listener;
    else if (this.#further === undefined) this.#further = [listener];
    else this.#further.push(listener);
  }

  /**
   * For a check that does one step after the other, each of which puts into `stop` what is to be stopped in its place: to listen and to unlisten for
   * every step costs more than the step's own work here.
   */
  listenInSteps(): void {
    this.listen({ expire: () => this.stop() });
  }

  unlisten(listener: Expiring): void {
    if (this.#listener === listener) this.#listener = this.#further?.pop();
    else if (this.#further) this.#further = this.#further.filter((other) => other !== listener);
    if (this.#listener === undefined) clearAlarm(this);
  }

  ring(): void {
    chargedTo(this.#charged, () => this.end());
  }

  /** The time is over now, whatever was left of it. */
  end(): void {
    this.#ended = true;
    clearAlarm(this);
    for (;;) {
      const listener = this.#listener;
      if (listener === undefined) return;
      this.#listener = this.#further?.pop();
      listener.expire();
    }
  }

  settle(): void {
    clearAlarm(this);
    this.#listener = undefined;
    this.#further = undefined;
  }
}
