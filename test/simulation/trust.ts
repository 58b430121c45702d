import { observe, shownBy, type Trust, trusting } from '../../coordinator/core/quarantine.ts';
import type { MonitorState } from '../../coordinator/core/types.ts';
import { isOnlyOne, reachOf } from '../../coordinator/core/views.ts';
import type { Agenda } from './agenda.ts';
import type { Database } from './database.ts';
import type { Network } from './network.ts';
import type { Round } from './round.ts';
import type { Story } from './story.ts';

/** What a simulated coordinator believes of each probe: trusted or sick, as the real rule has it (rule 16). */
export type ProbeTrust = { readonly judge: (round: Round, states: readonly MonitorState[]) => void };

type Dependencies = { readonly story: Story; readonly agenda: Agenda; readonly database: Database; readonly network: Network };

export const createProbeTrust = ({ story, agenda, database, network }: Dependencies): ProbeTrust => {
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
          const observed = { targets: story.monitors.length, isOnly: isOnlyOne(probe, network.roster()), isAll: true };
          const after = observe(before, { ...shown, target: String(made.monitor) }, observed);
          trusts.set(probe, after);
          if ((before.sick_since === null) !== (after.sick_since === null)) changed(probe, states);
        }
      }
    },
  };
};
