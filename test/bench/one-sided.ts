import { boundPerMillion } from '../simulation/one-sided.ts';
import { passed } from '../support/eventually.ts';
import type { Bench, Figure } from './figure.ts';
import { faultAt, places, realFaults } from './one-sided/schedule.ts';
import { startRig } from './scale/rig.ts';

/**
 * How often an outage is false where real probes look: every target fails all the time, each time
 * on one continent alone; one time of a hundred it fails everywhere. What the pure core does with
 * the same says `npm run simulate -- --one-sided`.
 */

const targets = 5_000;
const interval_s = 10;
const usualWindowMs = 900_000;
/** What began within the window is decided by then. */
const decidedMs = 60_000;
/** A confirmation that was asked for while the target failed may arrive so much later. */
const arrivesMs = 10_000;

export const oneSided: Bench = {
  name: 'one-sided',
  about: `${targets} targets that fail on one continent alone, again and again, seen by real probes (17 min)`,
  onlyByName: true,
  run: async (say, { windowMs = usualWindowMs } = {}) => {
    const rig = await startRig(
      [{ count: targets, interval_s, target: 'oneSided' }],
      places,
      say,
      240_000,
      {},
      null,
    );
    try {
      const from = Date.now();
      for (let minute = 0; minute * 60_000 < windowMs; minute += 1) {
        say(`minute ${minute} of ${Math.ceil(windowMs / 60_000)}`);
        await passed(Math.min(60_000, windowMs - minute * 60_000));
      }
      const to = Date.now();
      await passed(decidedMs);
      const incidents = await rig.sql<{ target: number; confirmed_at: number | null }[]>`
        select split_part(m.name, ' ', 2)::int as target, i.confirmed_at
        from incidents i join monitors m on m.id = i.monitor_id
        where i.started_at between ${new Date(from)} and ${new Date(to)}`;
      const confirmed = incidents.flatMap(({ target, confirmed_at: at }) =>
        at === null ? [] : [{ target, at }],
      );
      const isFalse = ({ target, at }: { target: number; at: number }): boolean =>
        [at, at - arrivesMs].every((when) => faultAt(target, when)?.continent !== null);
      const ofTarget = Map.groupBy(confirmed, ({ target }) => target);
      const outages = Array.from({ length: targets }, (_, nth) => nth + 1).flatMap((target) =>
        realFaults(target, from, to).map((fault) => ({ target, fault })),
      );
      const missed = outages.filter(
        ({ target, fault }) =>
          !ofTarget.get(target)?.some(({ at }) => at >= fault.from && at < fault.to + arrivesMs),
      );
      const figure = (what: string, wrong: number, of: number, names: string): Figure => ({
        what,
        ours: `${wrong}`,
        against: `${of} ${names}, with 95 % at most ${boundPerMillion(wrong, of).toFixed(0)} of a million`,
        ratio: null,
        goal: '0',
        holds: of > 0 && wrong === 0,
      });
      return [
        figure(
          'false outages',
          confirmed.filter(isFalse).length,
          incidents.length - confirmed.length,
          'failures on one continent alone',
        ),
        figure('outages that were missed', missed.length, outages.length, 'real ones'),
      ];
    } finally {
      await rig.close();
    }
  },
};
