/** When what fails: the same plan for whatever is watched, from one seed. */
import type { Continent } from '../../../shared/base/continents.ts';
import type { Chance } from '../../simulation/chance.ts';

/** A time in which a target failed: for everybody, or for one continent alone. */
export type Outage = { readonly place: string; readonly from: number; readonly until: number; readonly onlyFrom: Continent | null };

/** What a target is here for: never to fail, to fail for all, so seldom that nobody calls it flapping, or again and again; to fail for one continent only. */
export type Role = 'steady' | 'failing' | 'seldom' | 'lonely';

type State = {
  readonly place: string;
  readonly role: Role;
  /** Always the same continent, or two lonely failures would be one that two saw. */
  readonly lonely: Continent;
  nextAt: number;
  now: Outage | undefined;
};

export type Plan = {
  readonly places: readonly { readonly place: string; readonly role: Role }[];
  /** Whether the place is well for whoever asks; undefined where there is no such place. Without a continent: for most. */
  readonly isWell: (place: string, from?: Continent) => boolean | undefined;
  readonly outages: () => readonly Outage[];
  /** Begins and ends outages that are due. */
  readonly turn: (now: number) => void;
  /** From now on everything is well. */
  readonly heal: (now: number) => void;
};

export const planOutages = (
  chance: Chance,
  wanted: readonly { readonly place: string; readonly role: Role; readonly lonely: Continent }[],
  began: number,
): Plan => {
  const past: Outage[] = [];
  const states: State[] = wanted.map((one) => ({ ...one, now: undefined, nextAt: began + 8_000 + 1_000 * chance.between(0, 10) }));
  const byPlace = new Map(states.map((state) => [state.place, state]));

  const end = (state: State, now: number): void => {
    if (state.now) past.push({ ...state.now, until: now });
    state.now = undefined;
    state.nextAt = now + 1_000 * (state.role === 'seldom' ? chance.between(960, 1_300) : chance.between(10, 25));
  };

  return {
    places: states.map(({ place, role }) => ({ place, role })),
    isWell: (place, from) => {
      const state = byPlace.get(place);
      return state && (state.now === undefined || (state.now.onlyFrom !== null && state.now.onlyFrom !== from));
    },
    outages: () => [...past, ...states.flatMap(({ now }) => now ?? [])],
    turn: (now) => {
      for (const state of states) {
        if (state.role === 'steady' || now < state.nextAt) continue;
        if (state.now) end(state, now);
        else {
          const { place, role, lonely } = state;
          state.now = { place, from: now, until: Number.POSITIVE_INFINITY, onlyFrom: role === 'lonely' ? lonely : null };
          state.nextAt = now + 1_000 * (role === 'lonely' ? chance.between(6, 20) : chance.between(20, 40));
        }
      }
    },
    heal: (now) => {
      for (const state of states) {
        end(state, now);
        state.nextAt = Number.POSITIVE_INFINITY;
      }
    },
  };
};
