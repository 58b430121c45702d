import { decide } from '../../../coordinator/core/decide.ts';
import { checkpointOf, restore } from '../../../coordinator/core/lifecycle.ts';
import { observedIn } from '../../../coordinator/core/observations.ts';
import type {
  Effect,
  Incident,
  MonitorState,
  SeenResult,
} from '../../../coordinator/core/types.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { at, refused, rosterOf, story } from './story.ts';

/**
 * A monitor's life in results that come in whatever order, with coordinators that end and begin
 * again from what was stored.
 */

export const places = ['Africa', 'Asia', 'Europe'] as const satisfies readonly Continent[];
export const roster = rosterOf(places);
export type Seen = readonly [place: Continent, second: number, ok?: 'ok'];

const resultOf = ([place, second, ok]: Seen): SeenResult => ({
  seq: 1,
  monitor: 'monitor',
  config_version: 1,
  at: at(second),
  took_ms: 50,
  outcome: ok ?? 'fail',
  cause: ok ? null : refused,
  phases: null,
  evidence: ok ? null : { from: place, second },
  ...(ok ? {} : { others: { passed: 5, failed: 0 } }),
  look: null,
  quarantined: false,
  handed_over: false,
  from: { probe: `probe-${place}`, name: place, continent: place },
});

export const told = () => {
  let state: MonitorState = story(places).state();
  const stored: SeenResult[] = [];
  const incidents = new Map<string, Incident>();
  const effects: Effect[] = [];
  let ids = 0;
  const moment = {
    now: at(500),
    network: roster,
    newId: () => {
      ids += 1;
      return `id-${ids}`;
    },
  };
  const tell = (...list: Seen[]) => {
    for (const seen of list) {
      const result = resultOf(seen);
      const decision = decide(state, { is: 'result', result }, moment);
      state = decision.state;
      const { others: _, ...kept } = result;
      stored.push({ ...kept, evidence: null });
      effects.push(...decision.effects);
      for (const effect of decision.effects)
        if (effect.is === 'incident') incidents.set(effect.incident.id, effect.incident);
    }
  };
  /** The coordinator ends, and another begins from what the database holds. */
  const restart = () => {
    const { watched, incident, last_down, gaps } = state;
    const within = incident && observedIn(incident, watched, roster);
    const inTime = stored.filter((one) => within && one.at >= within.from && one.at <= within.to);
    const checkpoint = { ...checkpointOf(state), views: [] };
    // Of each probe the newest is read, whichever came last.
    const byTime = stored.toSorted((one, other) => one.at - other.at);
    const newest = [...new Map(byTime.map((one) => [one.from.probe, one])).values()];
    state = restore({
      watched,
      checkpoint,
      results: newest,
      told: inTime,
      resumed_at: null,
      incident,
      last_down,
      gaps,
    });
  };
  const short = (time: number | null) => (time === null ? null : (time - at(0)) / 1000);
  return {
    tell,
    restart,
    state: () => state,
    dates: () =>
      [...incidents.values()].map(({ started_at, seen, confirmed_at, confirmed, resolved_at }) => [
        seen?.continent,
        short(started_at),
        confirmed?.continent ?? null,
        short(confirmed_at),
        short(resolved_at),
      ]),
    evidence: (part: 'seen' | 'confirmed') =>
      effects
        .flatMap((effect) =>
          effect.is === 'evidence' && effect.row.part === part ? [effect.row.evidence] : [],
        )
        .at(-1),
  };
};
