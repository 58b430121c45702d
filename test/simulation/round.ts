import {
  beginBacklog,
  byStart,
  type LatestPresence,
  longestOnTheWay,
  mustWait,
  updateBacklog,
} from '../../coordinator/core/backlog.ts';
import { decide } from '../../coordinator/core/decide.ts';
import { observe, shownBy, type Trust, trusting } from '../../coordinator/core/quarantine.ts';
import type { Effect, MonitorEvent, MonitorState } from '../../coordinator/core/types.ts';
import { countsAs, isOnlyOne, reachOf } from '../../coordinator/core/views.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Place } from '../../shared/checks/places.ts';
import type { Agenda } from './agenda.ts';
import type { Batch, Entry, Waiting } from './bus.ts';
import type { Database, Stored, Unit } from './database.ts';
import type { Network } from './network.ts';
import type { Story } from './story.ts';

/** What a simulated coordinator holds back until all have handed over what they kept (rule 4). */
type Holding = {
  readonly present: (probe: number, isHandedOver: boolean) => void;
  readonly isHolding: () => boolean;
  readonly begin: (since: number) => void;
  /**
   * Whether what probes kept is to wait for others that may have kept as much: then it holds from
   * now on.
   */
  readonly waitsForOthers: (taken: readonly Waiting[]) => boolean;
};

const markOf = ({ probe, generation }: Pick<Batch, 'probe' | 'generation'>): string =>
  `${probe}:${generation}`;

export const createHolding = (parts: {
  readonly story: Story;
  readonly agenda: Agenda;
  readonly database: Database;
  readonly network: Network;
}): Holding => {
  const { story, agenda, database, network } = parts;
  const said = new Map<string, LatestPresence>();
  let handover = beginBacklog(agenda.now(), Number.NEGATIVE_INFINITY);

  const words = (): LatestPresence[] =>
    network
      .roster()
      .probes.filter(({ healthy, quarantined }) => healthy && !quarantined)
      .map(
        ({ id }) =>
          said.get(id) ?? { probe: id, heard_at: Number.NEGATIVE_INFINITY, handed_over: false },
      );

  const begin = (since: number) => {
    handover = beginBacklog(agenda.now(), since);
  };

  return {
    present: (probe, isHandedOver) => {
      const id = story.probes[probe]?.id ?? '';
      said.set(id, { probe: id, heard_at: agenda.now(), handed_over: isHandedOver });
    },
    isHolding: () => {
      handover = updateBacklog(handover, words(), agenda.now());
      return handover.until !== null;
    },
    begin,
    waitsForOthers: (taken) => {
      const now = agenda.now();
      const kept = taken.flatMap(({ batch, landedAt }) => {
        const committed = database.watermarks.get(markOf(batch)) ?? 0;
        const fresh = batch.entries.filter(({ result }) => result.seq > committed);
        const oldest = Math.min(landedAt, ...fresh.map(({ result }) => result.at + result.took_ms));
        return landedAt - oldest > longestOnTheWay
          ? [{ probe: story.probes[batch.probe]?.id ?? '', oldest }]
          : [];
      });
      if (kept.length === 0) return false;
      const since = Math.min(...kept.map(({ oldest }) => oldest));
      if (!mustWait(handover, { since, from: kept.map(({ probe }) => probe) }, words(), now))
        return false;
      begin(since);
      return true;
    },
  };
};

/**
 * One round of a simulated coordinator: decided on top of the states, which follow when it is
 * committed.
 */
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
  readonly looks: readonly {
    readonly monitor: number;
    readonly look: string;
    readonly places: readonly Place[];
  }[];
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
  readonly name: string;
}): Round => {
  const { story, database, now, network, name } = parts;
  const states = [...parts.states];
  const results: Stored[] = [];
  const effects: { monitor: number; effect: Effect }[] = [];
  const receipts: Receipt[] = [];
  const looks: { monitor: number; look: string; places: readonly Place[] }[] = [];
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
    const decision = decide(before, event, { now, network, newId });
    states[monitor] = decision.state;
    for (const effect of decision.effects) {
      effects.push({ monitor, effect });
      if (effect.is === 'look') looks.push({ monitor, look: effect.look, places: effect.places });
    }
  };

  const isOpen = (monitor: number): boolean => states[monitor]?.incident !== null;

  const storedOf = (probe: number, { result, made }: Entry): Stored[] => {
    const spec = story.probes[probe];
    if (!spec) return [];
    const quarantined = database.quarantined.has(probe);
    made.quarantined = quarantined;
    const from = { probe: spec.id, name: `probe-${probe}`, continent: spec.continent };
    return [
      {
        seen: {
          ...result,
          from,
          quarantined,
          handed_over: now - (result.at + result.took_ms) > late,
        },
        made,
      },
    ];
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
        judged.push(...storedOf(probe, entry));
      }
      watermarks.set(mark, last);
      receipts.push({ probe, generation, committed: last, again: false });
    }
    decideAll(judged);
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
    tick: (isDue) => {
      for (const [monitor, state] of states.entries())
        if (isDue(state)) decideOn(monitor, { is: 'tick' });
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
      results: results.map(({ seen, made }) => ({
        seen: { ...seen, outcome: countsAs(seen, now) },
        made,
      })),
      effects,
      outboxDone,
    }),
  };
};

/**
 * What a simulated coordinator believes of each probe: trusted or sick, as the real rule has it
 * (rule 16).
 */
type ProbeTrust = {
  readonly judge: (round: Round, states: readonly MonitorState[]) => void;
};

type Dependencies = {
  readonly story: Story;
  readonly agenda: Agenda;
  readonly database: Database;
  readonly network: Network;
};

export const createProbeTrust = ({
  story,
  agenda,
  database,
  network,
}: Dependencies): ProbeTrust => {
  const trusts = new Map<string, Trust>();
  for (const { id, index } of story.probes) {
    const since = database.quarantined.get(index);
    trusts.set(id, since === undefined ? trusting : { ...trusting, sick_since: since });
  }
  const isSick = (probe: string) => (trusts.get(probe)?.sick_since ?? null) !== null;

  const changed = (probe: string, states: readonly MonitorState[]): void => {
    const index = story.probes.find(({ id }) => id === probe)?.index;
    if (index === undefined) return;
    if (!isSick(probe)) database.quarantined.delete(index);
    else {
      database.quarantined.set(index, agenda.now());
      const event = { is: 'quarantined', at: agenda.now(), probe } as const;
      for (const monitor of states.keys()) database.outbox.push({ monitor, event });
    }
    network.setQuarantine();
  };

  return {
    judge: (round, states) => {
      for (const { seen, made } of round.results) {
        const state = states[made.monitor];
        if (!state) continue;
        const reach = reachOf(state.watched, network.roster());
        for (const { probe, shown } of shownBy(seen, { state, reach, isSick })) {
          const before = trusts.get(probe);
          if (!before) continue;
          const observed = {
            targets: story.monitors.length,
            isOnly: isOnlyOne(probe, network.roster()),
            isAll: true,
          };
          const after = observe(before, { ...shown, target: String(made.monitor) }, observed);
          trusts.set(probe, after);
          if ((before.sick_since === null) !== (after.sick_since === null)) changed(probe, states);
        }
      }
    },
  };
};
