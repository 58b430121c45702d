import {
  type Awaited,
  awaitedBy,
  beginBacklog,
  byStart,
  canDecideEarly,
  isAwaited,
  keptAfter,
  type LatestPresence,
  mustWait,
  updateBacklog,
} from '../../coordinator/core/backlog.ts';
import { decide } from '../../coordinator/core/decide.ts';
import { observe, shownBy, type Trust, trusting } from '../../coordinator/core/quarantine.ts';
import type { Effect, MonitorEvent, MonitorState, Rules } from '../../coordinator/core/types.ts';
import { countsAs, isOnlyOne, reachOf } from '../../coordinator/core/views.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Place } from '../../shared/checks/places.ts';
import type { Agenda } from './agenda.ts';
import type { Batch, Entry, Waiting } from './bus.ts';
import type { Database, Stored, Unit } from './database.ts';
import type { Network } from './network.ts';
import type { Story } from './story.ts';

/**
 * What a simulated coordinator holds back until all have handed over what they kept (rule 4), and
 * what of it need not wait.
 */
export type Holding = {
  readonly present: (probe: number, isHandedOver: boolean) => void;
  readonly isHolding: () => boolean;
  readonly begin: (since: number) => void;
  /**
   * Whether what probes kept is to wait for others that may have kept as much: then it holds from
   * now on.
   */
  readonly waitsForOthers: (taken: readonly Waiting[]) => boolean;
  /** What of these is decided all the same; undefined when nothing is. */
  readonly ahead: (
    batches: readonly Batch[],
    states: readonly MonitorState[],
  ) => readonly Told[] | undefined;
  readonly isAhead: (monitor: number) => boolean;
};

export type Told = { readonly batch: Batch; readonly entry: Entry };

export const markOf = ({ probe, generation }: Pick<Batch, 'probe' | 'generation'>): string =>
  `${probe}:${generation}`;

/** What of these is new, as far as none before it is missing. */
const inHand = (batches: readonly Batch[], database: Database): Told[] => {
  const reached = new Map<string, number>();
  return batches.flatMap((batch) => {
    const mark = markOf(batch);
    const upTo = reached.get(mark) ?? database.watermarks.get(mark) ?? 0;
    if (batch.after !== null && batch.after > upTo) return [];
    reached.set(mark, Math.max(upTo, batch.entries.at(-1)?.result.seq ?? 0));
    return batch.entries
      .filter(({ result }) => result.seq > upTo)
      .map((entry) => ({ batch, entry }));
  });
};

export const createHolding = (parts: {
  readonly story: Story;
  readonly agenda: Agenda;
  readonly database: Database;
  readonly network: Network;
  readonly rules: Rules;
}): Holding => {
  const { story, agenda, database, network, rules } = parts;
  const said = new Map<string, LatestPresence>();
  let handover = beginBacklog(agenda.now(), Number.NEGATIVE_INFINITY);
  let began = agenda.now();
  let wentAhead = new Set<number>();
  let awaited: Awaited | undefined;

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
    began = agenda.now();
    wentAhead = new Set();
    awaited = undefined;
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
        return landedAt - oldest > keptAfter
          ? [{ probe: story.probes[batch.probe]?.id ?? '', oldest }]
          : [];
      });
      if (kept.length === 0) return false;
      const since = Math.min(...kept.map(({ oldest }) => oldest));
      if (!mustWait(handover, { since, from: kept.map(({ probe }) => probe) }, words(), now, rules))
        return false;
      begin(since);
      return true;
    },
    ahead: (batches, states) => {
      const all = inHand(batches, database);
      awaited = awaitedBy(handover.since, awaited, words(), agenda.now());
      const those = new Set(awaited.keys());
      const fresh = all.filter(
        ({ batch, entry }) => !database.ahead.get(markOf(batch))?.has(entry.result.seq),
      );
      for (const monitor of new Set(fresh.map(({ entry }) => entry.made.monitor))) {
        const state = states[monitor];
        const about = all
          .filter(({ entry }) => entry.made.monitor === monitor)
          .map(({ batch, entry: { result } }) => ({
            ...result,
            quarantined: database.quarantined.has(batch.probe),
          }));
        const isMore = state !== undefined && isAwaited(state.watched, those, network.roster());
        if (state && canDecideEarly(state, about, began, isMore, rules)) wentAhead.add(monitor);
      }
      const told = fresh.filter(({ entry }) => wentAhead.has(entry.made.monitor));
      return told.length === 0 ? undefined : told;
    },
    isAhead: (monitor) => wentAhead.has(monitor),
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
  const looks: { monitor: number; look: string; places: readonly Place[] }[] = [];
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
        if (!database.ahead.get(mark)?.has(last)) judged.push(...storedOf(probe, entry));
      }
      watermarks.set(mark, last);
      receipts.push({ probe, generation, committed: last, again: false });
    }
    decideAll(judged);
  };

  const goAhead = (told: readonly Told[]) => {
    for (const { batch, entry } of told)
      ahead.set(markOf(batch), [...(ahead.get(markOf(batch)) ?? []), entry.result.seq]);
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
      ahead,
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
export type ProbeTrust = {
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
