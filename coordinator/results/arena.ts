import type { Phases } from '../../shared/checks/result.ts';
import { type Check, outcomeOf } from './check.ts';
import { type Bytes, readVarint, unzigzag, writeVarint, zigzag } from './varints.ts';

/**
 * The checks of an hour in memory, in about 18 bytes each, because a coordinator may hold millions:
 * one block of bytes, in which each check has the place of the monitor's check before it.
 *
 *     place of the one before (4 bytes) · probe · time · shape · cause · took · phases
 *
 * The shape is the outcome and which phases there are. Durations are tenths of a millisecond, as in
 * chunks.
 */
export type Arena = {
  readonly hour: number;
  readonly bytes: Bytes;
  /** Monitor → the place of its newest check, plus one. */
  readonly newest: Map<number, number>;
  readonly causes: string[];
  count: number;
};

/** A phase that there is none of is −1, as in a batch. */
export type Times = {
  readonly took_ms: number;
  readonly dns: number;
  readonly tcp: number;
  readonly tls: number;
  readonly first_byte: number;
  readonly total: number;
};

const initialBytes = 512;

export function createArena(hour: number): Arena {
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
export function addCheck(
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
export function newestPlace({ newest }: Arena, monitor: number): number {
  return (newest.get(monitor) ?? 0) - 1;
}

/** The place of the monitor's check before this one; −1 when it is its oldest. */
export function placeBefore({ bytes: { data } }: Arena, place: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = data.subarray(place, place + linkBytes);
  return a + (b << 8) + (c << 16) + d * 2 ** 24 - 1;
}

export function startAt(arena: Arena, place: number): number {
  return arena.hour + readVarint({ data: arena.bytes.data, at: place + linkBytes });
}

export function checkAt({ bytes: { data }, hour, causes }: Arena, place: number): Check {
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
