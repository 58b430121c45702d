/**
 * The ledger: what each probe saw (the log of the targets, and what a killed probe had on its disk) against what the database holds. Pure.
 *
 * A check that was under way when its probe was killed was seen by the target and by nobody else: it is counted as `in_flight`, never as
 * lost. It may be excused so only if the kill came within a moment after the request, and if the dead probe's disk does not hold it.
 */
import type { Continent } from '../../../shared/base/continents.ts';
import type { Seen } from './truth.ts';
import type { Saved } from './victims.ts';

export type Row = {
  readonly probe: string;
  readonly continent: Continent;
  readonly place: string;
  readonly at: number;
  readonly took_ms: number;
  /** Null: the probe's own fault. */
  readonly ok: boolean | null;
};
export type Kill = { readonly probe: string; readonly at: number };

export type Balance = {
  readonly seen: number;
  readonly stored: number;
  readonly in_flight: number;
  /** Seen, or on a dead probe's disk, and not in the database. */
  readonly lost: readonly string[];
  /** In the database twice. */
  readonly doubled: readonly string[];
  /** In the database, and no target ever heard of it. */
  readonly invented: readonly string[];
};

/** From the start of a check to its request at the target, on a machine that is busy; clocks are the same one. */
const earliest = 250;
const latest = 3_000;
/** A check of a target on this machine and the write to the disk are over by then. */
const underWay = 500;

const keyOf = ({ probe, place }: { readonly probe: string; readonly place: string }): string => `${probe} ${place}`;

const group = <Entry extends { readonly probe: string; readonly place: string; readonly at: number }>(
  entries: readonly Entry[],
): Map<string, Entry[]> => {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries.toSorted((a, b) => a.at - b.at)) {
    const known = groups.get(keyOf(entry));
    if (known) known.push(entry);
    else groups.set(keyOf(entry), [entry]);
  }
  return groups;
};

/** Pairs requests and rows of one probe and target in order of time; gives back those on both sides that have no partner. */
const pair = (seen: readonly Seen[], rows: readonly Row[]): { readonly alone: Seen[]; readonly strangers: Row[] } => {
  const alone: Seen[] = [];
  const strangers: Row[] = [];
  let at = 0;
  for (const row of rows) {
    for (let one = seen[at]; one && one.at < row.at - earliest; one = seen[at]) {
      alone.push(one);
      at += 1;
    }
    const candidate = seen[at];
    if (candidate && candidate.at <= row.at + latest) at += 1;
    else strangers.push(row);
  }
  return { alone: [...alone, ...seen.slice(at)], strangers };
};

const tell = (entry: { readonly probe: string; readonly place: string; readonly at: number }): string =>
  `${keyOf(entry)} ${new Date(entry.at).toISOString()}`;

export const balance = (input: {
  readonly seen: readonly Seen[];
  readonly rows: readonly Row[];
  readonly saved: readonly Saved[];
  readonly kills: readonly Kill[];
  readonly placeOf: (monitor: string) => string | undefined;
  /** What began later is still on its way and is not judged. */
  readonly until: number;
}): Balance => {
  const { seen, rows, saved, kills, placeOf, until } = input;
  const onDisk = saved.flatMap(({ probe, monitor, at }) => {
    const place = placeOf(monitor);
    return place === undefined ? [] : [{ probe, place, at }];
  });
  const held = new Set(rows.map((row) => `${keyOf(row)} ${row.at}`));
  const lost = onDisk.filter((entry) => !held.has(`${keyOf(entry)} ${entry.at}`)).map((entry) => `${tell(entry)}, on disk when killed`);

  const identities = new Set<string>();
  const doubled: string[] = [];
  for (const row of rows) {
    const identity = `${keyOf(row)} ${row.at} ${row.took_ms}`;
    if (identities.has(identity)) doubled.push(tell(row));
    identities.add(identity);
  }

  let inFlight = 0;
  const invented: string[] = [];
  const [bySeen, byRow] = [group(seen), group(rows)];
  for (const key of new Set([...bySeen.keys(), ...byRow.keys()])) {
    const { alone, strangers } = pair(bySeen.get(key) ?? [], byRow.get(key) ?? []);
    for (const one of alone.filter(({ at }) => at <= until)) {
      if (kills.some(({ probe, at }) => probe === one.probe && at >= one.at && at <= one.at + underWay)) inFlight += 1;
      else lost.push(tell(one));
    }
    invented.push(...strangers.filter(({ at }) => at <= until).map(tell));
  }
  const count = (entries: readonly { readonly at: number }[]): number => entries.filter(({ at }) => at <= until).length;
  return { seen: count(seen), stored: count(rows), in_flight: inFlight, lost: [...new Set(lost)], doubled, invented };
};
