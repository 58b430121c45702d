import { byStart } from '../../coordinator/core/backlog.ts';
import { decide } from '../../coordinator/core/decide.ts';
import type { Effect, MonitorEvent, MonitorState, Rules } from '../../coordinator/core/types.ts';
import { countsAs } from '../../coordinator/core/views.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Batch, Entry } from './bus.ts';
import type { Database, Stored, Unit } from './database.ts';
import { markOf, type Told } from './held-results.ts';
import type { Story } from './story.ts';

/** One round of a simulated coordinator: decided on top of the states, which follow when it is committed. */
export type Round = {
  readonly decidedAt: number;
  readonly network: Roster;
  readonly states: readonly MonitorState[];
  readonly results: readonly Stored[];
  readonly effects: readonly { readonly monitor: number; readonly effect: Effect }[];
  readonly receipts: readonly {
    readonly probe: number;
    readonly generation: number;
    readonly committed: number;
    readonly again: boolean;
  }[];
  readonly looks: readonly { readonly monitor: number; readonly look: string; readonly continents: readonly Continent[] }[];
  readonly reassigned: readonly number[];
  readonly receive: (batches: readonly Batch[]) => void;
  /** Decides these, and leaves those before them to wait. */
  readonly goAhead: (told: readonly Told[]) => void;
  readonly tick: (isDue: (state: MonitorState) => boolean) => void;
  readonly drain: () => void;
  readonly changesMonitors: () => boolean;
  readonly unit: (epoch: number) => Omit<Unit, 'checkpoints'>;
};

type Receipt = Round['receipts'][number];

/** Results that ended longer ago tell of the past. */
const late = 15_000;

export const createRound = (parts: {
  readonly story: Story;
  readonly database: Database;
  readonly states: readonly MonitorState[];
  readonly now: number;
  readonly network: Roster;
  readonly rules: Rules;
  readonly name: string;
}): Round => {
  const { story, database, now, network, rules, name } = parts;
  const states = [...parts.states];
  const results: Stored[] = [];
  const effects: { monitor: number; effect: Effect }[] = [];
  const receipts: Receipt[] = [];
  const looks: { monitor: number; look: string; continents: readonly Continent[] }[] = [];
  const reassigned: number[] = [];
  const watermarks = new Map<string, number>();
  const ahead = new Map<string, number[]>();
  let outboxDone = 0;
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `${name}.${ids}`;
  };

  const decideOn = (monitor: number, event: MonitorEvent) => {
    const before = states[monitor];
    if (!before) return;
    const decision = decide(before, event, { now, network, newId, rules });
    states[monitor] = decision.state;
    for (const effect of decision.effects) {
      effects.push({ monitor, effect });
      if (effect.is === 'look') looks.push({ monitor, look: effect.look, continents: effect.continents });
    }
  };

  const isOpen = (monitor: number): boolean => states[monitor]?.incident !== null;

  const storedOf = (probe: number, { result, made }: Entry): Stored[] => {
    const spec = story.probes[probe];
    if (!spec) return [];
    const quarantined = database.quarantined.has(probe);
    made.quarantined = quarantined;
    const from = { probe: spec.id, name: `probe-${probe}`, continent: spec.continent };
    return [{ seen: { ...result, from, quarantined, handed_over: now - (result.at + result.took_ms) > late }, made }];
  };

  const decideAll = (judged: readonly Stored[]) => {
    const past = new Set<number>();
    for (const { seen, made } of judged.toSorted((a, b) => byStart(a.seen, b.seen))) {
      results.push({ seen, made });
      decideOn(made.monitor, { is: 'result', result: seen });
      if (seen.handed_over) past.add(made.monitor);
    }
    for (const monitor of past) if (isOpen(monitor)) decideOn(monitor, { is: 'tick' });
  };

  const receive = (batches: readonly Batch[]) => {
    const judged: Stored[] = [];
    for (const batch of batches) {
      const { probe, generation, after, entries } = batch;
      const mark = markOf(batch);
      const committed = watermarks.get(mark) ?? database.watermarks.get(mark) ?? 0;
      if (!story.probes[probe] || (after !== null && after > committed)) {
        receipts.push({ probe, generation, committed, again: true });
        continue;
      }
      let last = committed;
      for (const entry of entries) {
        if (entry.result.seq <= last) continue;
        last = entry.result.seq;
        if (!database.ahead.get(mark)?.has(last)) judged.push(...storedOf(probe, entry));
      }
      watermarks.set(mark, last);
      receipts.push({ probe, generation, committed: last, again: false });
    }
    decideAll(judged);
  };

  const goAhead = (told: readonly Told[]) => {
    for (const { batch, entry } of told) ahead.set(markOf(batch), [...(ahead.get(markOf(batch)) ?? []), entry.result.seq]);
    decideAll(told.flatMap(({ batch, entry }) => storedOf(batch.probe, entry)));
  };

  return {
    decidedAt: now,
    network,
    states,
    results,
    effects,
    receipts,
    looks,
    reassigned,
    receive,
    goAhead,
    tick: (isDue) => {
      for (const [monitor, state] of states.entries()) if (isDue(state)) decideOn(monitor, { is: 'tick' });
    },
    drain: () => {
      for (const { monitor, event } of database.outbox.slice(database.outboxDone)) {
        decideOn(monitor, event);
        if (event.is !== 'quarantined') reassigned.push(monitor);
      }
      outboxDone = database.outbox.length;
    },
    changesMonitors: () => outboxDone > 0,
    unit: (epoch) => ({
      epoch,
      watermarks,
      ahead,
      results: results.map(({ seen, made }) => ({ seen: { ...seen, outcome: countsAs(seen, now) }, made })),
      effects,
      outboxDone,
    }),
  };
};
