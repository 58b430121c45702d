import { expect } from 'vitest';
import { decide, nextTick } from '../../../coordinator/core/decide.ts';
import { checkpointOf, createState, restore } from '../../../coordinator/core/lifecycle.ts';
import type {
  Effect,
  Incident,
  MonitorEvent,
  MonitorState,
  SeenResult,
  Watched,
} from '../../../coordinator/core/types.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Roster } from '../../../shared/checks/assignment.ts';
import type { Cause, Outcome } from '../../../shared/checks/result.ts';

/**
 * A monitor's life told step by step, in seconds from its creation, so that a test reads like the
 * rule that it proves.
 */

const epoch = 1_800_000_000_000;
export const at = (second: number): number => epoch + Math.round(second * 1000);

/** Of a ping that comes in its order. */
export const inTime = (second: number) => ({
  id: `beat-${second}`,
  at: at(second),
  began_at: at(second),
  next_good_at: null,
  fails_at: null,
});

export const refused: Cause = { class: 'connection_refused', params: {} };

export const rosterOf = (
  places: readonly Continent[],
  lost: readonly Continent[] = [],
): Roster => ({
  epoch: 1,
  probes: places.map((continent) => ({
    id: `probe-${continent}`,
    name: continent.toLowerCase(),
    continent,
    organisation: null,
    healthy: !lost.includes(continent),
    quarantined: false,
  })),
});

type Extra = Partial<
  Pick<
    SeenResult,
    | 'look'
    | 'config_version'
    | 'handed_over'
    | 'quarantined'
    | 'cause'
    | 'evidence'
    | 'warnings'
    | 'others'
  >
> & {
  probe?: string;
  /** Of a private probe. */
  place?: string;
  arrives?: number;
};

export type Story = {
  state: () => MonitorState;
  network: (roster: Roster) => void;
  result: (
    outcome: Outcome,
    continent: Continent,
    second: number,
    extra?: Extra,
  ) => readonly Effect[];
  fail: (continent: Continent, second: number, extra?: Extra) => readonly Effect[];
  pass: (continent: Continent, second: number, extra?: Extra) => readonly Effect[];
  tick: (second: number) => readonly Effect[];
  tell: (event: MonitorEvent, second: number) => readonly Effect[];
  /** Every incident so far as it stands now, oldest first. */
  incidents: () => readonly Incident[];
  effects: <Is extends Effect['is']>(is: Is) => readonly Extract<Effect, { is: Is }>[];
  nextTick: () => number | null;
  /** The coordinator ends, and another begins from what the database holds. */
  restart: () => void;
};

export const story = (
  places: readonly Continent[] = ['Europe', 'Asia'],
  watched: Partial<Watched> = {},
): Story => {
  let roster = rosterOf(places);
  let state = createState({
    id: 'monitor',
    organisation: 'organisation',
    kind: 'https',
    interval_ms: 60_000,
    timeout_ms: 10_000,
    continents: null,
    probe: null,
    config_version: 1,
    alert_after_ms: 0,
    sampled: true,
    created_at: epoch,
    paused_at: null,
    ...watched,
  });
  const told: Effect[] = [];
  const incidents = new Map<string, Incident>();
  let ids = 0;
  let seq = 0;
  const stored: SeenResult[] = [];

  /**
   * As the database does it, row by row: one open incident at most (rule 17), and what is written
   * is what is known.
   */
  const write = (incident: Incident) => {
    incidents.set(incident.id, incident);
    const open = [...incidents.values()].filter(({ resolved_at }) => resolved_at === null);
    if (open.length > 1)
      throw new Error(`two open incidents: ${open.map(({ id }) => id).join(' and ')}`);
    if (state.incident?.id === incident.id) expect(incident).toEqual(state.incident);
  };

  const tell = (event: MonitorEvent, second: number): readonly Effect[] => {
    const newId = () => {
      ids += 1;
      return `id-${ids}`;
    };
    const decision = decide(state, event, { now: at(second), network: roster, newId });
    state = decision.state;
    for (const effect of decision.effects) if (effect.is === 'incident') write(effect.incident);
    told.push(...decision.effects);
    return decision.effects;
  };

  const result = (
    outcome: Outcome,
    continent: Continent,
    second: number,
    { probe, place, arrives, ...extra }: Extra = {},
  ) => {
    seq += 1;
    const seen: SeenResult = {
      seq,
      monitor: 'monitor',
      config_version: state.watched.config_version,
      at: at(second),
      took_ms: 50,
      outcome,
      cause: outcome === 'fail' ? refused : null,
      phases: null,
      evidence: outcome === 'fail' ? { from: continent, second } : null,
      ...(outcome === 'fail' ? { others: { passed: 5, failed: 0 } } : {}),
      look: null,
      from: {
        probe: probe ?? place ?? `probe-${continent}`,
        name: probe ?? place ?? continent.toLowerCase(),
        continent,
        ...(place === undefined ? {} : { place }),
      },
      quarantined: false,
      handed_over: false,
      ...extra,
    };
    const { others: _, ...kept } = seen;
    stored.push({ ...kept, evidence: null });
    return tell({ is: 'result', result: seen }, arrives ?? second + 0.1);
  };

  return {
    state: () => state,
    network: (next) => {
      roster = next;
    },
    result,
    fail: (continent, second, extra) => result('fail', continent, second, extra),
    pass: (continent, second, extra) => result('ok', continent, second, extra),
    tick: (second) => tell({ is: 'tick' }, second),
    tell,
    incidents: () => [...incidents.values()],
    effects: (is) =>
      told.filter((effect): effect is Extract<Effect, { is: typeof is }> => effect.is === is),
    nextTick: () => nextTick(state, roster),
    restart: () => {
      const { watched, incident, last_down, gaps } = state;
      const rest = { resumed_at: null, incident, last_down, gaps };
      state = restore({
        watched,
        checkpoint: { ...checkpointOf(state), views: [] },
        results: [],
        told: stored,
        ...rest,
      });
    },
  };
};
