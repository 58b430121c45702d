import dnsPacket from 'dns-packet';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Chance } from '../../simulation/story.ts';
import { answerTo, startResolver } from '../../support/name-servers.ts';
import { startTarget } from '../../support/targets.ts';

/** When what fails: the same plan for whatever is watched, from one seed. */

/** A time in which a target failed: for everybody, or for one continent alone. */
export type Outage = {
  readonly place: string;
  readonly from: number;
  readonly until: number;
  readonly onlyFrom: Continent | null;
};

/**
 * What a target is here for: never to fail, to fail for all, so seldom that nobody calls it
 * flapping, or again and again; to fail for one continent only.
 */
type Role = 'steady' | 'failing' | 'seldom' | 'lonely';

type State = {
  readonly place: string;
  readonly role: Role;
  /** Always the same continent, or two lonely failures would be one that two saw. */
  readonly lonely: Continent;
  nextAt: number;
  now: Outage | undefined;
};

type Plan = {
  readonly places: readonly { readonly place: string; readonly role: Role }[];
  /**
   * Whether the place is well for whoever asks; undefined where there is no such place. Without a
   * continent: for most.
   */
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
  const states: State[] = wanted.map((one) => ({
    ...one,
    now: undefined,
    nextAt: began + 8_000 + 1_000 * chance.between(0, 10),
  }));
  const byPlace = new Map(states.map((state) => [state.place, state]));

  const end = (state: State, now: number): void => {
    if (state.now) past.push({ ...state.now, until: now });
    state.now = undefined;
    state.nextAt =
      now + 1_000 * (state.role === 'seldom' ? chance.between(960, 1_300) : chance.between(10, 25));
  };

  return {
    places: states.map(({ place, role }) => ({ place, role })),
    isWell: (place, from) => {
      const state = byPlace.get(place);
      return (
        state &&
        (state.now === undefined || (state.now.onlyFrom !== null && state.now.onlyFrom !== from))
      );
    },
    outages: () => [...past, ...states.flatMap(({ now }) => now ?? [])],
    turn: (now) => {
      for (const state of states) {
        if (state.role === 'steady' || now < state.nextAt) continue;
        if (state.now) end(state, now);
        else {
          const { place, role, lonely } = state;
          state.now = {
            place,
            from: now,
            until: Number.POSITIVE_INFINITY,
            onlyFrom: role === 'lonely' ? lonely : null,
          };
          state.nextAt =
            now + 1_000 * (role === 'lonely' ? chance.between(6, 20) : chance.between(20, 40));
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

/**
 * What really was: targets that fail when we say so, and a log of every request that reached them,
 * by whom, and what it got.
 */

/** One request that reached a target: the probe that sent it saw this. */
export type Seen = {
  readonly at: number;
  readonly probe: string;
  readonly continent: Continent;
  readonly place: string;
  readonly ok: boolean;
};

/** What is to be watched, and how; of a name's questions nobody can tell who asked them. */
type Place = {
  readonly place: string;
  readonly role: Role;
  readonly type: 'https' | 'dns';
  readonly target: string;
  readonly config: Readonly<Record<string, string | readonly string[]>>;
};

export type Truth = {
  readonly places: readonly Place[];
  readonly seen: readonly Seen[];
  /** When which name was asked for. */
  readonly asked: readonly { readonly at: number; readonly place: string }[];
  readonly outages: () => readonly Outage[];
  /**
   * Times in which this machine had no turn for the targets: whoever asked then was not answered,
   * which is an outage, too.
   */
  readonly stalls: () => readonly { readonly from: number; readonly until: number }[];
  /** From now on these get 503 from every page, as behind a middlebox that is broken. */
  readonly sicken: (continents: readonly Continent[]) => void;
  /** A probe is lost in the roster, now. */
  readonly lose: () => void;
  /** When two of them were so. */
  readonly sick: () => readonly { readonly from: number; readonly until: number }[];
  /**
   * Whether a continent was sick in that time, or shortly before, of a place that fails by itself
   * too: nobody can say then what is right. A steady place must stay well, unless a probe was lost
   * meanwhile: two that are sick confirm each other where no third can check (rule 46.3).
   */
  readonly isDoubtful: (of: {
    readonly place: string;
    readonly from: number;
    readonly until: number;
  }) => boolean;
  readonly turn: (now: number) => void;
  readonly heal: () => void;
  readonly close: () => Promise<void>;
};

/** So long before and after it is sick a probe may be wrong, or be believed less. */
const sickBeforeMs = 15_000;
const sickAfterMs = 60_000;

const stallMs = 1_000;
const right = '192.0.2.1';

export const createTruth = async (
  chance: Chance,
  continents: readonly Continent[],
  each: number,
  seldom: number,
): Promise<Truth> => {
  const seen: Seen[] = [];
  const asked: { at: number; place: string }[] = [];
  const began = Date.now();
  const roles: readonly (readonly [Role, number])[] = [
    ['steady', each],
    ['failing', each],
    ['lonely', each],
    ['seldom', seldom],
  ];
  const wanted = roles.flatMap(([role, length]) =>
    Array.from({ length }, (_, index) => ({
      place: `/${role}/${index}`,
      role,
      lonely: continents[index % continents.length] ?? 'Europe',
    })),
  );
  const pages = planOutages(chance, wanted, began);
  const named = (['steady', 'failing', 'failing'] as const).map((role, index) => ({
    place: `${role}-${index}.test`,
    role,
    lonely: 'Europe' as const,
  }));
  const names = planOutages(chance, named, began);

  let sick: readonly Continent[] = [];
  const sickSpans: { readonly from: number; until: number }[] = [];
  const lostAt: number[] = [];
  const stalls: { readonly from: number; readonly until: number }[] = [];
  let pingAt = began;
  const heart = setInterval(() => {
    const now = Date.now();
    if (now - pingAt > stallMs) stalls.push({ from: pingAt, until: now });
    pingAt = now;
  }, 50);

  const target = await startTarget();
  target.answer({
    is: 'by',
    answer: (request, response) => {
      const { url: place = '' } = request;
      const agent = request.headers['user-agent'] ?? '';
      const probe = /probe=([^;]+);/.exec(agent)?.[1] ?? '';
      const continent = continents.find((one) => agent.includes(`continent=${one})`));
      const isWell = pages.isWell(place, continent);
      const ok = isWell && !sick.some((one) => one === continent);
      if (ok === undefined || !continent) return void response.writeHead(404).end();
      seen.push({ at: Date.now(), probe, continent, place, ok });
      response.writeHead(ok ? 200 : 503).end();
    },
  });
  const resolver = await startResolver(({ query }) => {
    // A resolver may be asked with a mix of cases, to be told apart from a liar.
    const [{ name = '' } = {}] = dnsPacket.decode(query).questions ?? [];
    const place = name.toLowerCase();
    asked.push({ at: Date.now(), place });
    const data = names.isWell(place) === false ? '203.0.113.66' : right;
    return answerTo(query, { answers: [{ type: 'A', name, ttl: 60, data }] });
  });

  return {
    places: [
      ...pages.places.map(({ place, role }) => ({
        place,
        role,
        type: 'https' as const,
        target: target.url(place),
        config: {},
      })),
      ...names.places.map(({ place, role }) => ({
        place,
        role,
        type: 'dns' as const,
        target: place,
        config: { resolver: resolver.address, expected_values: [right], match: 'exact' },
      })),
    ],
    seen,
    asked,
    outages: () => [...pages.outages(), ...names.outages()],
    stalls: () => stalls,
    sicken: (continents) => {
      const [now, last] = [Date.now(), sickSpans.at(-1)];
      if (sick.length > 0 && last) last.until = now;
      sick = continents;
      if (sick.length > 0) sickSpans.push({ from: now, until: Number.POSITIVE_INFINITY });
    },
    lose: () => lostAt.push(Date.now()),
    sick: () => sickSpans,
    isDoubtful: ({ place, from, until }) => {
      const page = pages.places.find((one) => one.place === place);
      return sickSpans.some((span) => {
        const [begins, ends] = [span.from - sickBeforeMs, span.until + sickAfterMs];
        return (
          page !== undefined &&
          from <= ends &&
          until >= begins &&
          (page.role !== 'steady' || lostAt.some((at) => at >= begins && at <= ends))
        );
      });
    },
    turn: (now) => {
      pages.turn(now);
      names.turn(now);
    },
    heal: () => {
      pages.heal(Date.now());
      names.heal(Date.now());
    },
    close: async () => {
      clearInterval(heart);
      await target.close();
      await resolver.close();
    },
  };
};
