import { AsyncLocalStorage } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';

/**
 * The memory that the bodies of all checks under way take together. A body of up to 64 KiB is anybody's; for a longer one its check asks for all it may
 * need at once, so that nobody holds a part while he waits for the rest, and waits in turn where too much is held.
 *
 * Modes of a share: small (nothing is held) → (`waiting` → ) granted (all it may need is held) → released.
 */
const anybodys = 65_536;

type Waiting = { readonly share: BodyShare; readonly granted: () => void };

export class BodyMemory {
  readonly #most: number;
  #held = 0;
  readonly #waiting = new Set<Waiting>();

  constructor(most: number) {
    this.#most = most;
  }

  /** How much is held by all of them. */
  get held(): number {
    return this.#held;
  }

  share(whole: number): BodyShare {
    return new BodyShare(this, whole);
  }

  /** For shares only: true when it was granted at once; else `granted` is called in turn. */
  take(share: BodyShare, granted: () => void): boolean {
    if (this.#waiting.size === 0 && this.#hasRoom(share)) {
      this.#grant(share);
      return true;
    }
    this.#waiting.add({ share, granted });
    return false;
  }

  give(share: BodyShare): void {
    if (share.mode === 'granted') this.#held -= share.whole;
    share.mode = 'released';
    for (const one of this.#waiting) {
      if (one.share.mode === 'released') this.#waiting.delete(one);
      else if (this.#hasRoom(one.share)) {
        this.#waiting.delete(one);
        this.#grant(one.share);
        one.granted();
      } else break;
    }
  }

  /** One that is alone has room, however much it needs. */
  #hasRoom(share: BodyShare): boolean {
    return this.#held === 0 || this.#held + share.whole <= this.#most;
  }

  #grant(share: BodyShare): void {
    share.mode = 'granted';
    this.#held += share.whole;
  }
}

/** What one check may hold. */
export class BodyShare {
  mode: 'small' | 'waiting' | 'granted' | 'released' = 'small';
  readonly whole: number;
  readonly #memory: BodyMemory;

  constructor(memory: BodyMemory, whole: number) {
    this.#memory = memory;
    this.whole = whole;
  }

  /** Whether a body may grow to so many bytes now; if not, `granted` is called once it may, unless the share is released before. */
  allows(bytes: number, granted: () => void): boolean {
    if (bytes <= anybodys || this.mode === 'granted') return true;
    if (this.mode !== 'small') return false;
    this.mode = 'waiting';
    return this.#memory.take(this, granted);
  }

  release(): void {
    this.#memory.give(this);
  }
}

/**
 * Bytes that come in pieces, in one buffer that grows. Its memory is given back as soon as it is not wanted: the collector of garbage sees of a body
 * only a small object, and would leave a hundred of them lying about.
 */
export class GrowingBytes {
  readonly #most: number;
  #buffer = new ArrayBuffer(0);
  #length = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get length(): number {
    return this.#length;
  }

  /** Valid until more is added. */
  get bytes(): Buffer {
    return Buffer.from(this.#buffer, 0, this.#length);
  }

  /** Adds as much of it as there is room for. */
  add(part: Uint8Array): void {
    const count = Math.min(part.length, this.#most - this.#length);
    if (count <= 0) return;
    const needed = this.#length + count;
    const held = this.#buffer.byteLength;
    if (needed > held) this.#buffer = this.#buffer.transfer(Math.min(this.#most, Math.max(needed, held * 2)));
    new Uint8Array(this.#buffer, this.#length, count).set(count === part.length ? part : part.subarray(0, count));
    this.#length = needed;
  }

  free(): void {
    this.#buffer = this.#buffer.transfer(0);
    this.#length = 0;
  }
}

/** Takes what a check threw and nobody caught. */
export type Charged = (error: unknown) => void;

/**
 * Whose work is under way. A check opens sockets, sets timers and starts streams; what one of these throws in a turn of its own would end the whole
 * probe. Node follows a check through all of them, so that its fault is charged to it alone.
 */
const underWay = new AsyncLocalStorage<Charged>();

/** Does the work of a check. What it throws, now or in any turn that follows from it, is charged. */
export const chargedTo = (charged: Charged | undefined, work: () => void): void => {
  if (charged === undefined) {
    work();
    return;
  }
  try {
    underWay.run(charged, work);
  } catch (error) {
    charged(error);
  }
};

/** To whom what happens now is charged: for work that goes on in a turn of a timer or a socket that many checks share. */
export const chargedNow = (): Charged | undefined => underWay.getStore();

/** Tells others of a check. What they throw is not the check's: it is thrown in a turn that belongs to nobody. */
export const uncharged = (work: () => void): void =>
  underWay.exit(() => {
    try {
      work();
    } catch (error) {
      setImmediate(() => {
        throw error;
      });
    }
  });

/** Charges what nobody caught to the check whose work it was; false when it was no check's. */
export const chargeUncaught = (error: unknown): boolean => {
  const charged = chargedNow();
  charged?.(error);
  return charged !== undefined;
};

// Imported, because the global of this name is a getter, which costs more than the clock.

/**
 * One timer of the system for all that wait, because a timer for each question costs as much as reading its answer, and nearly all are answered
 * long before. An alarm never rings early, and late by at most a tick.
 *
 * Modes of an alarm: idle → set → rung (idle again), or cleared before (idle). Modes of the timer: stopped → armed for the tick after the earliest
 * alarm (a later one does not move it, nor does one that is cleared) → a tick: armed anew, or stopped when no alarm is set.
 */
export type Alarm = {
  /** When it rings, by `performance.now()`. */
  due: number;
  /** Where it stands among those that are set; -1 while it is idle. Its keeper's business only. */
  place: number;
  readonly ring: () => void;
};

const tickMs = 20;

const set: Alarm[] = [];
let timer: NodeJS.Timeout | undefined;
/** The moment that the timer is armed for. */
let armedFor = Number.POSITIVE_INFINITY;

export const newAlarm = (ring: () => void): Alarm => ({ due: 0, place: -1, ring });

export const clearAlarm = (alarm: Alarm): void => {
  const { place } = alarm;
  if (place < 0) return;
  alarm.place = -1;
  const last = set.pop();
  if (last === undefined || last === alarm) return;
  last.place = place;
  set[place] = last;
};

/** Ticks lie on a grid, so that alarms which are due close together ring together. */
const tickAfter = (due: number): number => Math.ceil(due / tickMs) * tickMs;

const armFor = (at: number): void => {
  if (at >= armedFor) return;
  armedFor = at;
  clearTimeout(timer);
  timer = setTimeout(tick, Math.max(1, at - performance.now()));
  // Whoever waits for something has a socket open, which keeps the process alive if that is worth it.
  timer.unref();
};

const tick = (): void => {
  armedFor = Number.POSITIVE_INFINITY;
  const now = performance.now();
  let earliest = Number.POSITIVE_INFINITY;
  // From the end, so that what takes the place of one that rang has been looked at already.
  for (let at = set.length - 1; at >= 0; at -= 1) {
    const alarm = set[at];
    if (alarm === undefined) continue;
    if (alarm.due > now) {
      earliest = Math.min(earliest, alarm.due);
      continue;
    }
    clearAlarm(alarm);
    alarm.ring();
  }
  armFor(tickAfter(earliest));
};

export const setAlarm = (alarm: Alarm, due: number): void => {
  alarm.due = due;
  if (alarm.place < 0) alarm.place = set.push(alarm) - 1;
  armFor(tickAfter(due));
};

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
