import {
  type Awaited,
  awaitedBy,
  beginBacklog,
  canDecideEarly,
  isAwaited,
  keptAfter,
  type LatestPresence,
  mustWait,
  updateBacklog,
} from '../../coordinator/core/backlog.ts';
import type { MonitorState, Rules } from '../../coordinator/core/types.ts';
import type { Agenda } from './agenda.ts';
import type { Batch, Entry, Waiting } from './bus.ts';
import type { Database } from './database.ts';
import type { Network } from './network.ts';
import type { Story } from './story.ts';

/** What a simulated coordinator holds back until all have handed over what they kept (rule 4), and what of it need not wait. */
export type Holding = {
  readonly present: (probe: number, isHandedOver: boolean) => void;
  readonly isHolding: () => boolean;
  readonly begin: (since: number) => void;
  /** Whether what probes kept is to wait for others that may have kept as much: then it holds from now on. */
  readonly waitsForOthers: (taken: readonly Waiting[]) => boolean;
  /** What of these is decided all the same; undefined when nothing is. */
  readonly ahead: (batches: readonly Batch[], states: readonly MonitorState[]) => readonly Told[] | undefined;
  readonly isAhead: (monitor: number) => boolean;
};

export type Told = { readonly batch: Batch; readonly entry: Entry };

export const markOf = ({ probe, generation }: Pick<Batch, 'probe' | 'generation'>): string => `${probe}:${generation}`;

/** What of these is new, as far as none before it is missing. */
const inHand = (batches: readonly Batch[], database: Database): Told[] => {
  const reached = new Map<string, number>();
  return batches.flatMap((batch) => {
    const mark = markOf(batch);
    const upTo = reached.get(mark) ?? database.watermarks.get(mark) ?? 0;
    if (batch.after !== null && batch.after > upTo) return [];
    reached.set(mark, Math.max(upTo, batch.entries.at(-1)?.result.seq ?? 0));
    return batch.entries.filter(({ result }) => result.seq > upTo).map((entry) => ({ batch, entry }));
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
      .map(({ id }) => said.get(id) ?? { probe: id, heard_at: Number.NEGATIVE_INFINITY, handed_over: false });

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
        return landedAt - oldest > keptAfter ? [{ probe: story.probes[batch.probe]?.id ?? '', oldest }] : [];
      });
      if (kept.length === 0) return false;
      const since = Math.min(...kept.map(({ oldest }) => oldest));
      if (!mustWait(handover, { since, from: kept.map(({ probe }) => probe) }, words(), now, rules)) return false;
      begin(since);
      return true;
    },
    ahead: (batches, states) => {
      const all = inHand(batches, database);
      awaited = awaitedBy(handover.since, awaited, words(), agenda.now());
      const those = new Set(awaited.keys());
      const fresh = all.filter(({ batch, entry }) => !database.ahead.get(markOf(batch))?.has(entry.result.seq));
      for (const monitor of new Set(fresh.map(({ entry }) => entry.made.monitor))) {
        const state = states[monitor];
        const about = all
          .filter(({ entry }) => entry.made.monitor === monitor)
          .map(({ batch, entry: { result } }) => ({ ...result, quarantined: database.quarantined.has(batch.probe) }));
        const isMore = state !== undefined && isAwaited(state.watched, those, network.roster());
        if (state && canDecideEarly(state, about, began, isMore, rules)) wentAhead.add(monitor);
      }
      const told = fresh.filter(({ entry }) => wentAhead.has(entry.made.monitor));
      return told.length === 0 ? undefined : told;
    },
    isAhead: (monitor) => wentAhead.has(monitor),
  };
};
