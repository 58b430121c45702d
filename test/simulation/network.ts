import { endsSilenceOfAll } from '../../coordinator/core/backlog.ts';
import { judgeSilence } from '../../coordinator/probes/roster.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Agenda } from './agenda.ts';
import type { Bus } from './bus.ts';
import type { Database } from './database.ts';
import type { Probe } from './probe.ts';
import type { Story } from './story.ts';

/** Who is well: presence every 5 s while somebody listens, and the roster that follows from it. */
export type Network = {
  readonly roster: () => Roster;
  /**
   * One moment of presence: those speak whose turn it is. `listening`: the coordinator that hears
   * it, if one does.
   */
  readonly round: (listening: Listener | null, speaks: (probe: number) => boolean) => void;
  readonly beginListening: () => void;
  readonly publish: () => void;
  readonly setQuarantine: () => void;
  readonly isWhole: () => boolean;
  readonly resume: () => void;
};

export type Listener = { readonly present: (probe: number, handedOver: boolean) => void };

export const createNetwork = (
  story: Story,
  agenda: Agenda,
  bus: Bus,
  database: Database,
  probes: readonly Probe[],
): Network => {
  const healthy = story.probes.map(() => true);
  const wasConnected = story.probes.map(() => true);
  const heardAt = story.probes.map(() => story.start);
  let listeningSince = story.start;
  let epoch = 1;

  const rosterNow = (): Roster => ({
    epoch,
    probes: story.probes.map(({ id, index, continent }) => ({
      id,
      name: `probe-${index}`,
      continent,
      organisation: null,
      healthy: healthy[index] === true,
      quarantined: database.quarantined.has(index),
    })),
  });
  let roster = rosterNow();

  const wordsOfHealthy = () => {
    const words = [];
    for (const [index, isHealthy] of healthy.entries()) {
      const at = heardAt[index] ?? 0;
      if (isHealthy) words.push({ probe: String(index), at, heard_at: at });
    }
    return words;
  };

  const tell = (probe: Probe) => {
    const mine = roster;
    if (probe.rosterEpoch() < mine.epoch && probe.isConnected())
      bus.say(probe.spec.index, () => probe.isConnected() && probe.hear(mine));
  };

  const renew = () => {
    epoch += 1;
    roster = rosterNow();
    for (const probe of probes) tell(probe);
  };

  return {
    roster: () => roster,
    publish: () => {
      for (const probe of probes) tell(probe);
    },
    setQuarantine: renew,
    beginListening: () => {
      listeningSince = agenda.now();
    },
    round: (listening, speaks) => {
      const spoke: Probe[] = [];
      for (const probe of probes) {
        const { index } = probe.spec;
        const isConnected = probe.isConnected();
        // Who is back speaks at once.
        if (isConnected && (speaks(index) || !wasConnected[index])) spoke.push(probe);
        wasConnected[index] = isConnected;
      }
      if (!listening) return;
      const now = agenda.now();
      let changed = false;
      if (spoke.length > 0 && endsSilenceOfAll(wordsOfHealthy(), now)) listeningSince = now;
      for (const probe of spoke) {
        const { index } = probe.spec;
        heardAt[index] = now;
        if (healthy[index] !== true) {
          healthy[index] = true;
          changed = true;
        }
        listening.present(index, probe.handedOver());
        const committed = database.watermarks.get(`${index}:${probe.generation()}`) ?? 0;
        probe.receive({ generation: probe.generation(), committed, again: false });
        // The assignment stream keeps the last roster for whoever missed it.
        tell(probe);
      }
      for (const lost of judgeSilence(wordsOfHealthy(), listeningSince, now).lost) {
        healthy[Number(lost)] = false;
        changed = true;
      }
      if (changed) renew();
    },
    isWhole: () => healthy.every(Boolean) && database.quarantined.size === 0,
    resume: () => {
      for (const { index } of story.probes) heardAt[index] = agenda.now();
    },
  };
};
