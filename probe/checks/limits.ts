import { performance } from 'node:perf_hooks';

/**
 * Limits the memory that the bodies of all running checks take together. A body of up to 64 KiB is
 * always allowed. For a longer one, its check requests all it may need at once, so no check holds a
 * part while it waits for the rest. It waits in turn while others hold too much. Where several
 * organisations ask for memory, the hanging servers of one leave some for the others: beyond a
 * quarter an organisation gets more only while half is free.
 *
 * Modes of a share: small (nothing is held) → (`waiting` → ) granted (all it may need is held) →
 * released.
 */
const anybodys = 65_536;
/** For how long an organisation that asked for memory counts. */
const rememberedMs = 3_600_000;

type Waiting = { readonly share: BodyShare; readonly granted: () => void };

export class BodyMemory {
  readonly #most: number;
  #held = 0;
  readonly #heldBy = new Map<string, number>();
  /** When each organisation last asked for memory; the newest comes last. */
  readonly #askedAt = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();

  constructor(limit: number) {
    this.#most = limit;
  }

  /** How many bytes all shares hold. */
  get held(): number {
    return this.#held;
  }

  share(whole: number, organisation: string): BodyShare {
    return new BodyShare(this, whole, organisation);
  }

  /** For shares only: true when granted at once; otherwise `granted` is called in turn. */
  take(share: BodyShare, granted: () => void): boolean {
    this.#askedAt.delete(share.organisation);
    this.#askedAt.set(share.organisation, performance.now());
    const isFirst = [...this.#waiting].every((one) => !this.#isItsTurn(one.share));
    if (isFirst && this.#hasRoom(share)) {
      this.#grant(share);
      return true;
    }
    this.#waiting.add({ share, granted });
    return false;
  }

  give(share: BodyShare): void {
    if (share.mode === 'granted') this.#hold(share, -share.whole);
    share.mode = 'released';
    for (const one of this.#waiting) {
      if (one.share.mode === 'released') this.#waiting.delete(one);
      else if (!this.#isItsTurn(one.share)) continue;
      else if (this.#hasRoom(one.share)) {
        this.#waiting.delete(one);
        this.#grant(one.share);
        one.granted();
      } else break;
    }
  }

  /** A share that is alone is always granted, however much it needs. */
  #hasRoom(share: BodyShare): boolean {
    if (this.#held === 0) return true;
    return this.#held + share.whole <= this.#most && this.#isItsTurn(share);
  }

  /** Whether its organisation may have more. */
  #isItsTurn({ whole, organisation }: BodyShare): boolean {
    if (!this.#isWantedByOthers(organisation)) return true;
    const own = this.#heldBy.get(organisation) ?? 0;
    return own + whole <= this.#most / 4 || this.#held + whole <= this.#most / 2 || own === 0;
  }

  #isWantedByOthers(organisation: string): boolean {
    const since = performance.now() - rememberedMs;
    for (const [other, at] of this.#askedAt) {
      if (at < since) this.#askedAt.delete(other);
      else if (other !== organisation) return true;
    }
    return false;
  }

  #grant(share: BodyShare): void {
    share.mode = 'granted';
    this.#hold(share, share.whole);
  }

  #hold({ organisation }: BodyShare, bytes: number): void {
    this.#held += bytes;
    const own = (this.#heldBy.get(organisation) ?? 0) + bytes;
    if (own === 0) this.#heldBy.delete(organisation);
    else this.#heldBy.set(organisation, own);
  }
}

/** The memory that one check may hold. */
export class BodyShare {
  mode: 'small' | 'waiting' | 'granted' | 'released' = 'small';
  readonly whole: number;
  readonly organisation: string;
  /** For how long the check has waited: its time, and none of the target's. */
  waited_ms = 0;
  readonly #memory: BodyMemory;

  constructor(memory: BodyMemory, whole: number, organisation: string) {
    this.#memory = memory;
    this.whole = whole;
    this.organisation = organisation;
  }

  /**
   * Whether a body may grow to this many bytes now. If not, `granted` is called once it may, unless
   * the share is released before.
   */
  allows(bytes: number, granted: () => void): boolean {
    if (bytes <= anybodys || this.mode === 'granted') return true;
    if (this.mode !== 'small') return false;
    this.mode = 'waiting';
    const since = performance.now();
    return this.#memory.take(this, () => {
      this.waited_ms += performance.now() - since;
      granted();
    });
  }

  release(): void {
    this.#memory.give(this);
  }
}

/**
 * Collects bytes that come in pieces in one growing buffer, and returns its memory as soon as it is
 * not needed. The garbage collector sees only a small object for each body and would leave a
 * hundred bodies in memory.
 */
export class GrowingBytes {
  readonly #most: number;
  #buffer = new ArrayBuffer(0);
  #length = 0;

  constructor(limit: number) {
    this.#most = limit;
  }

  get length(): number {
    return this.#length;
  }

  /** Valid until more is added. */
  get bytes(): Buffer {
    return Buffer.from(this.#buffer, 0, this.#length);
  }

  /** Adds as much of it as fits. */
  add(part: Uint8Array): void {
    const count = Math.min(part.length, this.#most - this.#length);
    if (count <= 0) return;
    const needed = this.#length + count;
    const held = this.#buffer.byteLength;
    if (needed > held)
      this.#buffer = this.#buffer.transfer(Math.min(this.#most, Math.max(needed, held * 2)));
    new Uint8Array(this.#buffer, this.#length, count).set(
      count === part.length ? part : part.subarray(0, count),
    );
    this.#length = needed;
  }

  free(): void {
    this.#buffer = this.#buffer.transfer(0);
    this.#length = 0;
  }
}

/**
 * One system timer for all that wait. A timer for each question would cost as much as reading its
 * answer, and nearly all are answered long before. An alarm never rings early, and at most one tick
 * late.
 *
 * The timer is armed for the tick after the earliest alarm; later alarms and cleared ones do not
 * move it.
 */
export type Alarm = {
  /** When it rings, by `performance.now()`. */
  due: number;
  /** Its index among the set alarms; -1 while idle. Only the alarm clock uses it. */
  place: number;
  readonly ring: () => void;
};

const tickMs = 20;

const set: Alarm[] = [];
let timer: NodeJS.Timeout | undefined;
/** The moment for which the timer is armed. */
let armedFor = Number.POSITIVE_INFINITY;

export function newAlarm(ring: () => void): Alarm {
  return { due: 0, place: -1, ring };
}

export function clearAlarm(alarm: Alarm): void {
  const { place } = alarm;
  if (place < 0) return;
  alarm.place = -1;
  const last = set.pop();
  if (last === undefined || last === alarm) return;
  last.place = place;
  set[place] = last;
}

function armFor(at: number): void {
  if (at >= armedFor) return;
  armedFor = at;
  clearTimeout(timer);
  timer = setTimeout(tick, Math.max(1, at - performance.now()));
  // Anyone who waits has a socket open, which keeps the process alive if needed.
  timer.unref();
}

function tick(): void {
  armedFor = Number.POSITIVE_INFINITY;
  const now = performance.now();
  let earliest = Number.POSITIVE_INFINITY;
  // Walks from the end: the alarm that moves into a freed place has been examined already.
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
}

/** Ticks lie on a grid, so alarms that are due close together ring together. */
function tickAfter(due: number): number {
  return Math.ceil(due / tickMs) * tickMs;
}

export function setAlarm(alarm: Alarm, due: number): void {
  alarm.due = due;
  if (alarm.place < 0) alarm.place = set.push(alarm) - 1;
  armFor(tickAfter(due));
}

const nothing = (): void => undefined;

/** What to stop when the time is over. */
export type Expiring = { readonly expire: () => void };

/**
 * The end of a check's time: the monitor's timeout, or the stop of the probe. An object whose alarm
 * is set only once someone listens, because an AbortController and a timer for each check cost as
 * much as reading its answer.
 *
 * Modes: running → over (the limit came, or `end`: all listeners are called, once) | settled (the
 * check ended before: no one is called any more).
 */
export class CheckDeadline implements Alarm {
  /** When its time began, by `performance.now()`. */
  readonly began: number;
  due: number;
  place = -1;
  /** For a check in steps: what the end of the time stops. A step that is over ignores it. */
  stop = nothing;
  #ended = false;
  /** Most checks have one listener; further ones go to the list. */
  #listener: Expiring | undefined;
  #further: Expiring[] | undefined;

  constructor(began: number, due: number) {
    this.began = began;
    this.due = due;
  }

  /**
   * With an alarm set, only once it has rung: what arrived while this process was late is read
   * first.
   */
  isOver(now = performance.now()): boolean {
    return this.#ended || (this.place < 0 && now >= this.due);
  }

  /** A listener added after the end is not called; it must ask `isOver`. */
  listen(listener: Expiring): void {
    this.#ended = this.isOver();
    this.attend(listener);
    if (this.place < 0 && !this.#ended) setAlarm(this, this.due);
  }

  /**
   * For a listener with an alarm of its own, which watches the time itself. It is called only if
   * the time ends sooner.
   */
  attend(listener: Expiring): void {
    if (this.#listener === undefined) this.#listener = listener;
    else if (this.#further === undefined) this.#further = [listener];
    else this.#further.push(listener);
  }

  /**
   * For a check that does one step after the other. Each step puts into `stop` what to stop. Adding
   * and removing a listener for every step costs more than the step's own work here.
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
    this.end();
  }

  /** Ends the time now, whatever is left of it. */
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
