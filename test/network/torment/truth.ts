/** What really was: targets that fail when we say so, and a log of every request that reached them, by whom, and what it got. */
import type { Continent } from '../../../shared/base/continents.ts';
import type { Chance } from '../../simulation/chance.ts';
import { startTarget } from '../../support/targets.ts';

/** One request that reached a target: the probe that sent it saw this. */
export type Seen = {
  readonly at: number;
  readonly probe: string;
  readonly continent: Continent;
  readonly place: string;
  readonly ok: boolean;
};

/** A time in which a target failed: for everybody, or for one continent alone. */
export type Outage = { readonly place: string; readonly from: number; readonly until: number; readonly onlyFrom: Continent | null };

/** What a target is here for: never to fail, to fail for all, to fail for one continent only. */
export type Role = 'steady' | 'failing' | 'lonely';

export type Truth = {
  readonly places: readonly { readonly place: string; readonly role: Role; readonly url: string }[];
  readonly seen: readonly Seen[];
  readonly outages: () => readonly Outage[];
  /** Times in which this machine had no turn for the targets: whoever asked then was not answered, which is an outage, too. */
  readonly stalls: () => readonly { readonly from: number; readonly until: number }[];
  /** Begins and ends outages that are due. */
  readonly turn: (now: number) => void;
  /** From now on everything is well. */
  readonly heal: () => void;
  readonly close: () => Promise<void>;
};

type State = { readonly place: string; readonly role: Role; readonly lonely: Continent; nextAt: number; now: Outage | undefined };

const stallMs = 1_000;

export const createTruth = async (chance: Chance, continents: readonly Continent[], each: number): Promise<Truth> => {
  const seen: Seen[] = [];
  const past: Outage[] = [];
  const began = Date.now();
  const roles: readonly Role[] = ['steady', 'failing', 'lonely'];
  const states: State[] = roles.flatMap((role) =>
    Array.from({ length: each }, (_, index) => ({
      ...{ place: `/${role}/${index}`, role, now: undefined },
      // Always the same continent, or two lonely failures would be one that two saw.
      lonely: continents[index % continents.length] ?? 'Europe',
      nextAt: began + 8_000 + 1_000 * chance.between(0, 10),
    })),
  );
  const byPlace = new Map(states.map((state) => [state.place, state]));

  const stalls: { readonly from: number; readonly until: number }[] = [];
  let beatAt = began;
  const heart = setInterval(() => {
    const now = Date.now();
    if (now - beatAt > stallMs) stalls.push({ from: beatAt, until: now });
    beatAt = now;
  }, 50);

  const target = await startTarget();
  target.answer({
    is: 'by',
    answer: (request, response) => {
      const { url: place = '' } = request;
      const agent = request.headers['user-agent'] ?? '';
      const probe = /probe=([^;]+);/.exec(agent)?.[1] ?? '';
      const continent = continents.find((each) => agent.includes(`continent=${each})`));
      const state = byPlace.get(place);
      if (!state || !continent) return void response.writeHead(404).end();
      const ok = state.now === undefined || (state.now.onlyFrom !== null && state.now.onlyFrom !== continent);
      seen.push({ at: Date.now(), probe, continent, place, ok });
      response.writeHead(ok ? 200 : 503).end();
    },
  });

  const end = (state: State, now: number): void => {
    if (state.now) past.push({ ...state.now, until: now });
    state.now = undefined;
    state.nextAt = now + 1_000 * chance.between(10, 25);
  };

  return {
    places: states.map(({ place, role }) => ({ place, role, url: target.url(place) })),
    seen,
    outages: () => [...past, ...states.flatMap(({ now }) => now ?? [])],
    stalls: () => stalls,
    turn: (now) => {
      for (const state of states) {
        if (state.role === 'steady' || now < state.nextAt) continue;
        if (state.now) end(state, now);
        else {
          state.now = {
            place: state.place,
            from: now,
            until: Number.POSITIVE_INFINITY,
            onlyFrom: state.role === 'lonely' ? state.lonely : null,
          };
          state.nextAt = now + 1_000 * (state.role === 'lonely' ? chance.between(6, 20) : chance.between(20, 40));
        }
      }
    },
    heal: () => {
      for (const state of states) {
        end(state, Date.now());
        state.nextAt = Number.POSITIVE_INFINITY;
      }
    },
    close: async () => {
      clearInterval(heart);
      await target.close();
    },
  };
};
