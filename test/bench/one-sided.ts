import { boundPerMillion } from '../simulation/one-sided.ts';
import { passed } from '../support/eventually.ts';
import type { Bench, Figure } from './figure.ts';
import { faultAt, places, realFaults } from './one-sided/schedule.ts';
import { type Rig, startRig } from './scale/rig.ts';

/**
 * How often an outage is false where real probes look: every target fails all the time, each time
 * on one continent alone; one time of a hundred it fails everywhere. What the pure core does with
 * the same says `npm run simulate -- --one-sided`.
 */

const targets = 5_000;
const interval_s = 10;
const usualWindowMs = 1_140_000;
/** Of so many that are wrong it says what was seen. */
const tellsOf = 20;
/** What began within the window is decided by then. */
const decidedMs = 60_000;
/** A check that began before the target failed, or was asked for while it did, may meet it or not. */
const nearMs = 10_000;

export const oneSided: Bench = {
  name: 'one-sided',
  about: `${targets} targets that fail on one continent alone, again and again, seen by real probes (21 min)`,
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
        [at, at - nearMs, at + nearMs].every((when) => faultAt(target, when)?.continent !== null);
      const ofTarget = Map.groupBy(confirmed, ({ target }) => target);
      const outages = Array.from({ length: targets }, (_, nth) => nth + 1).flatMap((target) =>
        realFaults(target, from, to).map((fault) => ({ target, fault })),
      );
      const missed = outages.filter(
        ({ target, fault }) =>
          !ofTarget
            .get(target)
            ?.some(({ at }) => at >= fault.from - nearMs && at < fault.to + nearMs),
      );
      for (const { target, at } of [
        ...confirmed.filter(isFalse),
        ...missed.map((one) => ({ target: one.target, at: one.fault.from })),
      ].slice(0, tellsOf))
        say(`target ${target} at ${at}: ${await storyOf(rig.sql, target, at)}`);
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

/** All incidents of a target around a time with every check that was seen in them, and its faults. */
async function storyOf(sql: Rig['sql'], target: number, around: number): Promise<string> {
  const incidents = await sql`
    select i.started_at, i.seen_continent, i.confirmed_at, i.confirmed_continent, i.resolved_at, i.note, s.points
    from incidents i join monitors m on m.id = i.monitor_id left join incident_samples s on s.incident_id = i.id
    where m.name = ${`oneSided ${target}`}
      and i.started_at between ${new Date(around - 90_000)} and ${new Date(around + 60_000)}
    order by i.started_at`;
  const faults = [-90, -45, 0, 45].map((s) => faultAt(target, around + s * 1_000));
  return JSON.stringify({ faults, incidents });
}
