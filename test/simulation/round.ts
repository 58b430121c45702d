import { decide } from '../../coordinator/domain/decide.ts';
import { inOrder } from '../../coordinator/domain/handover.ts';
import type { Effect, MonitorEvent, MonitorState, SeenResult } from '../../coordinator/domain/incident-types.ts';
import type { Rules } from '../../coordinator/domain/rules.ts';
import { countsAs } from '../../coordinator/domain/views.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Batch } from './bus.ts';
import type { Database, Stored, Unit } from './database.ts';
import type { Made } from './record.ts';
import type { Story } from './story.ts';

/** One round of a simulated coordinator: decided on top of the states, which follow when it is committed. */
export type Round = {
  readonly decidedAt: number;
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

  const receive = (batches: readonly Batch[]) => {
    const judged = new Map<SeenResult, Made>();
    for (const { probe, generation, after, entries } of batches) {
      const mark = `${probe}:${generation}`;
      const committed = watermarks.get(mark) ?? database.watermarks.get(mark) ?? 0;
      const spec = story.probes[probe];
      if (!spec || (after !== null && after > committed)) {
        receipts.push({ probe, generation, committed, again: true });
        continue;
      }
      const quarantined = database.quarantined.has(probe);
      const from = { probe: spec.id, name: `probe-${probe}`, continent: spec.continent };
      let last = committed;
      for (const { result, made } of entries) {
        if (result.seq <= last) continue;
        last = result.seq;
        made.quarantined = quarantined;
        judged.set({ ...result, from, quarantined, handed_over: now - (result.at + result.took_ms) > late }, made);
      }
      watermarks.set(mark, last);
      receipts.push({ probe, generation, committed: last, again: false });
    }
    const past = new Set<number>();
    for (const seen of inOrder([...judged.keys()])) {
      const made = judged.get(seen);
      if (!made) continue;
      results.push({ seen, made });
      decideOn(made.monitor, { is: 'result', result: seen });
      if (seen.handed_over) past.add(made.monitor);
    }
    for (const monitor of past) if (isOpen(monitor)) decideOn(monitor, { is: 'tick' });
  };

  return {
    decidedAt: now,
    states,
    results,
    effects,
    receipts,
    looks,
    reassigned,
    receive,
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
      results: results.map(({ seen, made }) => ({ seen: { ...seen, outcome: countsAs(seen, now) }, made })),
      effects,
      outboxDone,
    }),
  };
};
