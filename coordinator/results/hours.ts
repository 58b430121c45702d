import {
  type Arena,
  addCheck,
  checkAt,
  createArena,
  newestPlace,
  placeBefore,
  startAt,
} from './arena.ts';
import { type Check, outcomeNumbers } from './check.ts';
import { hourMs, hourOf } from './chunk.ts';
import { readPacked } from './packed-batch.ts';

/**
 * What is committed of a partition and may be in no chunk yet: the checks of each hour, apart by
 * the hour in which they arrived. Pure.
 *
 * Modes of a set of checks: `open` → (its hour is over when a round of sealing begins) `due` →
 * `sealing` (its chunks are being written) → gone. What arrives for a set that is not open goes into
 * another one, which is for the next round.
 */
export type Hours = {
  /** What arrived before is in chunks. */
  until: number;
  held: Held[];
};

type Held = { readonly arrival: number; readonly arena: Arena; mode: 'open' | 'due' | 'sealing' };

/** A batch as the journal keeps it. */
export type JournalBatch = {
  /** The hour in which it arrived. */
  readonly arrival: number;
  readonly probe: number;
  readonly data: Uint8Array;
};

export function createHours(): Hours {
  return { until: 0, held: [] };
}

/** @returns what is wrong with a damaged batch. */
export function addBatch(hours: Hours, { arrival, probe, data }: JournalBatch): string | null {
  let open: Held | undefined;
  const arenaFor = (at: number): Arena => {
    if (open && at >= open.arena.hour && at < open.arena.hour + hourMs) return open.arena;
    open = openAt(hours, arrival, hourOf(at));
    return open.arena;
  };
  return readPacked(data, {
    pass: (monitor, at, took_ms, dns, tcp, tls, first_byte, total, outcome) =>
      addCheck(arenaFor(at), monitor, probe, at, outcomeNumbers[outcome], null, {
        took_ms,
        dns,
        tcp,
        tls,
        first_byte,
        total,
      }),
    other: (monitor, { at, took_ms, outcome, cause, phases }) =>
      addCheck(arenaFor(at), monitor, probe, at, outcomeNumbers[outcome], cause?.class ?? null, {
        took_ms,
        dns: phases?.dns ?? -1,
        tcp: phases?.tcp ?? -1,
        tls: phases?.tls ?? -1,
        first_byte: phases?.first_byte ?? -1,
        total: phases?.total ?? -1,
      }),
  });
}

function openAt(hours: Hours, arrival: number, hour: number): Held {
  const known = hours.held.find(
    (held) => held.mode === 'open' && held.arrival === arrival && held.arena.hour === hour,
  );
  if (known) return known;
  const made: Held = { arrival, arena: createArena(hour), mode: 'open' };
  hours.held.push(made);
  return made;
}

/** The checks of a monitor, newest first. One that arrived twice is there twice. */
export function* newestIn({ held }: Pick<Hours, 'held'>, monitor: number): Generator<Check> {
  const places = held.flatMap(({ arena }) => {
    const place = newestPlace(arena, monitor);
    return place < 0 ? [] : [{ arena, place, at: startAt(arena, place) }];
  });
  for (;;) {
    let next = places[0];
    for (const each of places) if (next && each.at > next.at) next = each;
    if (!next || next.place < 0) return;
    const { arena, place } = next;
    next.place = placeBefore(arena, place);
    next.at = next.place < 0 ? Number.NEGATIVE_INFINITY : startAt(arena, next.place);
    yield checkAt(arena, place);
  }
}

/** Its checks that began from a time on and before another, oldest first. */
export function checksIn(
  hours: Pick<Hours, 'held'>,
  monitor: number,
  from: number,
  to: number,
): Check[] {
  const held = hours.held.filter(({ arena: { hour } }) => hour < to && hour + hourMs > from);
  const checks: Check[] = [];
  for (const check of newestIn({ held }, monitor)) {
    if (check.at < from) break;
    if (check.at < to) checks.push(check);
  }
  return checks.reverse();
}

/** What is written as chunks together. */
export type Sealing = {
  readonly hour: number;
  /** Keys of monitors whose chunks are still to be written. */
  readonly monitors: number[];
  /** Its checks of a monitor. */
  readonly checksOf: (monitor: number) => readonly Check[];
};

/** Begins a round: all hours that ended before this time are due, with what is there of them. */
export function beginRound(hours: Hours, endedBefore: number): void {
  for (const each of hours.held) if (each.arena.hour + hourMs <= endedBefore) each.mode = 'due';
}

/** Whether hours of the round are left. */
export function hasDue(hours: Hours): boolean {
  return dueIn(hours).length > 0;
}

function dueIn({ held }: Hours): Held[] {
  return held.filter(({ mode }) => mode === 'due');
}

/** Begins with the oldest hour that is due; undefined when there is none. */
export function beginSealing(hours: Hours): Sealing | undefined {
  const due = dueIn(hours);
  if (due.length === 0) return undefined;
  const hour = Math.min(...due.map(({ arena }) => arena.hour));
  const held = due.filter(({ arena }) => arena.hour === hour);
  for (const each of held) each.mode = 'sealing';
  const monitors = new Set(held.flatMap(({ arena }) => [...arena.newest.keys()]));
  return {
    hour,
    monitors: [...monitors].sort((a, b) => b - a),
    checksOf: (monitor) => [...newestIn({ held }, monitor)],
  };
}

/** All of it is in chunks. */
export function endSealing(hours: Hours): void {
  hours.held = hours.held.filter(({ mode }) => mode !== 'sealing');
}

/** Up to which hour of arrival all is in chunks, of the hours that ended before this time. */
export function sealedUntil({ held, until }: Hours, endedBefore: number): number {
  const arrivals = held.map(({ arrival }) => arrival);
  return Math.max(until, Math.min(hourOf(endedBefore), ...arrivals));
}

/** Drops what has been written to chunks. */
export function dropSealed(hours: Hours, until: number): void {
  if (until === hours.until) return;
  hours.until = until;
  hours.held = hours.held.filter(({ arrival }) => arrival >= until);
}
