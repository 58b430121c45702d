import { type Continent, continents } from '../../../shared/base/continents.ts';

/**
 * What is wrong with each target at each time, for the target itself and for those who judge:
 * nearly always it fails on one continent alone, rarely everywhere.
 */
export type Fault = {
  readonly from: number;
  readonly to: number;
  /** null: it fails everywhere. */
  readonly continent: Continent | null;
  readonly manner: 'status' | 'reset' | 'silence';
};

export const places = ['Asia', 'Europe', 'North America'] as const satisfies readonly Continent[];

/** Long enough for each place to have its turn at 10 s; then a while without a fault. */
const lastsMs = 32_000;
const everyMs = 45_000;
const realOnes = 100;

/** The fault whose time this is; undefined between two. */
export function faultAt(target: number, at: number): Fault | undefined {
  const fault = newestFault(target, at);
  return at < fault.to ? fault : undefined;
}

/** Those that are real and lie within this time as a whole. */
export function realFaults(target: number, from: number, to: number): readonly Fault[] {
  const found: Fault[] = [];
  for (let at = from + everyMs; at < to; at += everyMs) {
    const fault = newestFault(target, at);
    if (fault.continent === null && fault.to <= to) found.push(fault);
  }
  return found;
}

function newestFault(target: number, at: number): Fault {
  const phase = (target * 7_919) % everyMs;
  const turn = Math.floor((at - phase) / everyMs);
  const from = turn * everyMs + phase;
  const chance = mixed(target, turn);
  const isReal = chance % realOnes === 0;
  const place = places[Math.floor(chance / realOnes) % places.length];
  const kind = Math.floor(chance / 1_000) % 10;
  // Silence takes two time limits to be believed, which is longer than this lasts.
  const manner = kind < 6 || (isReal && kind > 8) ? 'status' : kind < 9 ? 'reset' : 'silence';
  return { from, to: from + lastsMs, continent: isReal ? null : (place ?? null), manner };
}

/** A number that both determine, and that looks like chance. */
function mixed(a: number, b: number): number {
  let mix = Math.imul(a ^ 0x9e37_79b9, 0x85eb_ca6b) ^ Math.imul(b ^ 0x7f4a_7c15, 0xc2b2_ae35);
  mix = Math.imul(mix ^ (mix >>> 15), 0x2c1b_3c6d);
  mix = Math.imul(mix ^ (mix >>> 12), 0x297a_2d39);
  return (mix ^ (mix >>> 15)) >>> 0;
}

/** Where a check comes from, by what it says of itself. */
export function placeOf(userAgent: string | undefined): Continent | undefined {
  const named = /continent=([^;)]+)/.exec(userAgent ?? '')?.[1];
  return continents.find((each) => each === named);
}
