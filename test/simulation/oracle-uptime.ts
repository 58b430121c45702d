import { uptime, windowOf } from '../../coordinator/core/uptime.ts';
import type { Database } from './database.ts';
import { saysSomething } from './oracle-views.ts';
import type { Record } from './result-record.ts';
import type { Story } from './story.ts';
import { happeningsOf, type Truth } from './truth.ts';

/** The sums at the end (rules 21 to 24), counted in another way: boundary by boundary, with a question for each stretch. */

type Stretch = { readonly from: number; readonly to: number };
const names = ['paused', 'maintenance', 'down', 'unknown', 'up'] as const;
type Sums = { [Name in (typeof names)[number]]: number };

/** Gaps are written a little after they begin: the last moments are not compared. */
const unsettled = 15_000;

const sweep = (from: number, to: number, layers: readonly (readonly [keyof Sums, readonly Stretch[]])[]): Sums => {
  const turns = layers.flatMap(([name, list]) =>
    list.flatMap((each) => [
      { at: Math.min(Math.max(each.from, from), to), name, step: 1 },
      { at: Math.min(Math.max(each.to, from), to), name, step: -1 },
    ]),
  );
  turns.push({ at: to, name: 'up', step: 0 });
  const depth: Sums = { paused: 0, maintenance: 0, down: 0, unknown: 0, up: 1 };
  const sums: Sums = { paused: 0, maintenance: 0, down: 0, unknown: 0, up: 0 };
  let time = from;
  for (const turn of turns.toSorted((a, b) => a.at - b.at)) {
    const state = names.find((name) => depth[name] > 0) ?? 'up';
    sums[state] += turn.at - time;
    time = turn.at;
    depth[turn.name] += turn.step;
  }
  return sums;
};

/** Pauses as the operations made them, whatever overlapped. */
const pausesOf = (story: Story, truth: Truth, monitor: number, end: number): Stretch[] => {
  const edges = story.happenings
    .filter((each) => each.is === 'paused' && each.monitor === monitor)
    .flatMap(({ at, until }) => [at, until])
    .toSorted((a, b) => a - b);
  return edges.flatMap((edge, index) => {
    const next = edges[index + 1] ?? end;
    return truth.isPaused(monitor, edge) ? [{ from: edge, to: next }] : [];
  });
};

/** Time that no result covers. */
const uncovered = (from: number, to: number, covered: readonly Stretch[]): Stretch[] => {
  const holes: Stretch[] = [];
  let reached = from;
  for (const { from: start, to: stop } of covered.toSorted((a, b) => a.from - b.from)) {
    if (start > reached) holes.push({ from: reached, to: Math.min(start, to) });
    reached = Math.max(reached, stop);
    if (reached >= to) return holes.filter((hole) => hole.from < hole.to);
  }
  holes.push({ from: reached, to });
  return holes.filter((hole) => hole.from < hole.to);
};

/** Rule 23: so many ten-thousandths of a percent fit in, and not one more. */
const isRoundedDown = (percent: number, up: number, down: number): boolean => {
  const parts = BigInt(Math.round(percent * 10_000));
  const [all, whole] = [BigInt(up) * 1_000_000n, BigInt(up + down)];
  return parts * whole <= all && all < (parts + 1n) * whole;
};

/** When what was seen before began to say nothing any more (rule 18): resumes, and edits in order of their versions. */
const changesOf = (story: Story, monitor: number, paused: readonly Stretch[], truth: Truth) => {
  const edits = happeningsOf(story, 'edited').flatMap((edit) => (edit.monitor === monitor ? [edit.at] : []));
  const resumes = paused.flatMap(({ to }) => (to < story.end && !truth.isPaused(monitor, to) ? [to] : []));
  return { edits, all: [...edits, ...resumes].toSorted((a, b) => a - b) };
};

export const faultsOfUptime = (story: Story, truth: Truth, record: Record, database: Database, now: number): string[] =>
  story.monitors.flatMap(({ index, interval_ms, timeout_ms }) => {
    const end = now - unsettled;
    const allowed = 2 * interval_ms + timeout_ms;
    const made = (record.made[index] ?? []).filter((each) => each.counted > 0 && saysSomething(each));
    const paused = pausesOf(story, truth, index, end);
    const changes = changesOf(story, index, paused, truth);
    const until = (from: number, to: number) => Math.min(to, changes.all.find((time) => time > from) ?? to);
    const seen = made.map(({ at, version }) => ({
      from: Math.max(at, story.start),
      to: Math.min(until(at, at + allowed), changes.edits[version - 1] ?? Number.POSITIVE_INFINITY),
    }));
    const covered = [
      ...seen.filter(({ from, to }) => from < to),
      ...(record.calm[index] ?? []).map(({ from, to }) => ({ from, to: until(from, to) })),
    ];
    const unknown = uncovered(story.start, end, covered);
    // Time that a wrong clock was ahead by is told twice, or never.
    const wasAhead = happeningsOf(story, 'clock ahead').length > 0;
    // What came after two changes of its monitor is not told apart by which of them it was before.
    const isBlurred =
      wasAhead || made.some(({ at, decided_at }) => changes.all.filter((time) => time > at && time <= (decided_at ?? at)).length > 1);
    const incidents = [...database.incidents.values()].filter(
      ({ monitor, incident }) => monitor === index && incident.confirmed_at !== null,
    );
    const down = incidents.map(({ incident }) => ({ from: incident.started_at, to: incident.resolved_at ?? end }));
    const rows = (kind: 'paused' | 'unknown') =>
      database.ledger(index, kind).map(({ began_at, ended_at }) => ({ from: began_at, to: ended_at ?? end }));
    const expected = sweep(story.start, end, [
      ['paused', paused],
      ['maintenance', truth.covers(index)],
      ['down', down],
      ['unknown', unknown],
    ]);
    const told = uptime({
      window: { ...windowOf(365, end) },
      created_at: story.start,
      paused: rows('paused'),
      cover: database.cover(index),
      down,
      unknown: rows('unknown'),
    });
    const sum = told.paused + told.maintenance + told.down + told.unknown + told.up;
    const faults = sum === end - story.start ? [] : [`monitor ${index}: the five states add up to ${sum} instead of ${end - story.start}`];
    for (const name of isBlurred ? [] : names) {
      if (told[name] !== expected[name]) faults.push(`monitor ${index}: ${name} for ${told[name]} ms instead of ${expected[name]} ms`);
    }
    if (told.percent !== null && !isRoundedDown(told.percent, told.up, told.down))
      faults.push(
        `monitor ${index}: ${told.percent} % of ${told.up} ms up and ${told.down} ms down, which is not rounded down to four decimals`,
      );
    const hasOutages = down.length > 0 && told.down > 0;
    if ((told.percent === 100) === hasOutages && told.up + told.down > 0)
      faults.push(`monitor ${index}: ${told.percent} % with ${told.down} ms of downtime`);
    return faults;
  });
