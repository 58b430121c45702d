/** What really was: targets that fail when we say so, and a log of every request that reached them, by whom, and what it got. */
import dnsPacket from 'dns-packet';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Chance } from '../../simulation/chance.ts';
import { answerTo, startResolver } from '../../support/name-servers.ts';
import { startTarget } from '../../support/targets.ts';
import { type Outage, planOutages, type Role } from './outages.ts';

/** One request that reached a target: the probe that sent it saw this. */
export type Seen = {
  readonly at: number;
  readonly probe: string;
  readonly continent: Continent;
  readonly place: string;
  readonly ok: boolean;
};

/** What is to be watched, and how; of a name's questions nobody can tell who asked them. */
export type Place = {
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
  /** Times in which this machine had no turn for the targets: whoever asked then was not answered, which is an outage, too. */
  readonly stalls: () => readonly { readonly from: number; readonly until: number }[];
  readonly turn: (now: number) => void;
  readonly heal: () => void;
  readonly close: () => Promise<void>;
};

const stallMs = 1_000;
const right = '192.0.2.1';

export const createTruth = async (chance: Chance, continents: readonly Continent[], each: number, seldom: number): Promise<Truth> => {
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
      ...{ place: `/${role}/${index}`, role },
      lonely: continents[index % continents.length] ?? 'Europe',
    })),
  );
  const pages = planOutages(chance, wanted, began);
  const named = (['steady', 'failing', 'failing'] as const).map((role, index) => ({
    ...{ place: `${role}-${index}.test`, role },
    lonely: 'Europe' as const,
  }));
  const names = planOutages(chance, named, began);

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
      const ok = pages.isWell(place, continent);
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
      ...pages.places.map(({ place, role }) => ({ ...{ place, role, type: 'https' as const }, target: target.url(place), config: {} })),
      ...names.places.map(({ place, role }) => ({
        ...{ place, role, type: 'dns' as const, target: place },
        config: { resolver: resolver.address, expected_values: [right], match: 'exact' },
      })),
    ],
    seen,
    asked,
    outages: () => [...pages.outages(), ...names.outages()],
    stalls: () => stalls,
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
