import type { Phases } from '../../shared/checks/result.ts';
import { type Check, outcomeNumbers, outcomeOf } from './check.ts';
import { hourMs, hourOf } from './chunk.ts';
import { readPacked, type Taken } from './packed-batch.ts';
import { type Bytes, readVarint, unzigzag, writeVarint, zigzag } from './varints.ts';

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
export function addBatch(hours: Hours, { data, ...of }: JournalBatch): string | null {
  return readPacked(data, takenInto(hours, of));
}

/** Adds the checks that it is handed. */
export function takenInto(
  hours: Hours,
  { arrival, probe }: Pick<JournalBatch, 'arrival' | 'probe'>,
): Taken {
  let open: Held | undefined;
  const arenaFor = (at: number): Arena => {
    if (open && at >= open.arena.hour && at < open.arena.hour + hourMs) return open.arena;
    open = openAt(hours, arrival, hourOf(at));
    return open.arena;
  };
  return {
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
  };
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

/**
 * The checks of an hour in memory, in about 18 bytes each, because a coordinator may hold millions:
 * one block of bytes, in which each check has the place of the monitor's check before it.
 *
 *     place of the one before (4 bytes) · probe · time · shape · cause · took · phases
 *
 * The shape is the outcome and which phases there are. Durations are tenths of a millisecond, as in
 * chunks.
 */
type Arena = {
  readonly hour: number;
  readonly bytes: Bytes;
  /** Monitor → the place of its newest check, plus one. */
  readonly newest: Map<number, number>;
  readonly causes: string[];
  count: number;
};

/** A phase that there is none of is −1, as in a batch. */
type Times = {
  readonly took_ms: number;
  readonly dns: number;
  readonly tcp: number;
  readonly tls: number;
  readonly first_byte: number;
  readonly total: number;
};

const initialBytes = 512;

function createArena(hour: number): Arena {
  return {
    hour,
    bytes: { data: new Uint8Array(initialBytes), at: 0 },
    newest: new Map(),
    causes: [],
    count: 0,
  };
}

/** No check takes more. */
const maxCheckBytes = 80;
const linkBytes = 4;

/** @param outcome its number. */
function addCheck(
  arena: Arena,
  monitor: number,
  probe: number,
  at: number,
  outcome: number,
  cause: string | null,
  { took_ms, dns, tcp, tls, first_byte, total }: Times,
): void {
  const { bytes } = arena;
  if (bytes.at + maxCheckBytes > bytes.data.length) grow(bytes);
  const place = bytes.at;
  link(arena, monitor, place, at);
  bytes.at = place + linkBytes;
  writeVarint(bytes, at - arena.hour);
  writeVarint(bytes, probe);
  const took = tenthsOf(took_ms);
  const shape =
    outcome |
    (dns < 0 ? 0 : 4) |
    (tcp < 0 ? 0 : 8) |
    (tls < 0 ? 0 : 16) |
    (first_byte < 0 ? 0 : 32) |
    (total < 0 ? 0 : 64);
  writeVarint(bytes, shape);
  if (outcome !== 0) writeVarint(bytes, cause === null ? 0 : placeOfCause(arena, cause) + 1);
  writeVarint(bytes, took);
  if (dns >= 0) writeVarint(bytes, tenthsOf(dns));
  if (tcp >= 0) writeVarint(bytes, tenthsOf(tcp));
  if (tls >= 0) writeVarint(bytes, tenthsOf(tls));
  if (first_byte >= 0) writeVarint(bytes, tenthsOf(first_byte));
  if (total >= 0) writeVarint(bytes, zigzag(tenthsOf(total) - took));
  arena.count += 1;
}

/** The place of a monitor's newest check; −1 when it has none. */
function newestPlace({ newest }: Arena, monitor: number): number {
  return (newest.get(monitor) ?? 0) - 1;
}

/** The place of the monitor's check before this one; −1 when it is its oldest. */
function placeBefore({ bytes: { data } }: Arena, place: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = data.subarray(place, place + linkBytes);
  return a + (b << 8) + (c << 16) + d * 2 ** 24 - 1;
}

function startAt(arena: Arena, place: number): number {
  return arena.hour + readVarint({ data: arena.bytes.data, at: place + linkBytes });
}

function checkAt({ bytes: { data }, hour, causes }: Arena, place: number): Check {
  const bytes: Bytes = { data, at: place + linkBytes };
  const at = hour + readVarint(bytes);
  const probe = readVarint(bytes);
  const shape = readVarint(bytes);
  const cause = (shape & 3) === 0 ? null : (causes[readVarint(bytes) - 1] ?? null);
  const took = readVarint(bytes);
  const phase = (bit: number): number | null => (shape & bit ? readVarint(bytes) / 10 : null);
  // They are read in the order in which they stand there.
  const phases: Phases | null =
    shape < 4
      ? null
      : {
          dns: phase(4),
          tcp: phase(8),
          tls: phase(16),
          first_byte: phase(32),
          total: shape & 64 ? (took + unzigzag(readVarint(bytes))) / 10 : null,
        };
  return { probe, at, took_ms: took / 10, outcome: outcomeOf(shape & 3), cause, phases };
}

/** Puts the check between those of its monitor, in order of start. Nearly always it is the newest. */
function link(arena: Arena, monitor: number, place: number, at: number): void {
  let older = newestPlace(arena, monitor);
  let newer = -1;
  while (older >= 0 && startAt(arena, older) > at) {
    newer = older;
    older = placeBefore(arena, older);
  }
  writeLink(arena, place, older);
  if (newer < 0) arena.newest.set(monitor, place + 1);
  else writeLink(arena, newer, place);
}

function writeLink({ bytes: { data } }: Arena, place: number, before: number): void {
  const link = before + 1;
  data[place] = link;
  data[place + 1] = link >>> 8;
  data[place + 2] = link >>> 16;
  data[place + 3] = link >>> 24;
}

function grow(bytes: Bytes): void {
  const data = new Uint8Array(Math.ceil(bytes.data.length * 1.5) + maxCheckBytes);
  data.set(bytes.data);
  bytes.data = data;
}

function placeOfCause({ causes }: Arena, cause: string): number {
  const known = causes.indexOf(cause);
  return known >= 0 ? known : causes.push(cause) - 1;
}

/** Longer than anything takes. */
const maxTenths = 2 ** 32;

function tenthsOf(ms: number): number {
  return Math.min(Math.round(ms * 10), maxTenths);
}
