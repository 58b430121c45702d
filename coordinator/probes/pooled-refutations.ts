import type { Clock } from '../../shared/base/clock.ts';
import { type Share, saysTheSame, shareOf, together } from '../domain/refuted-share.ts';
import type { Sql } from '../store/database.ts';
import { type Told, tellOfProbes, toldOfProbes, untellOfProbes } from '../store/refutations.ts';

/**
 * Several coordinators judge a probe by what all of them know of it (rule 16). Whoever knows of a refuted failure tells the others, through the
 * database, and they say what they know of that probe. While nothing is refuted nothing is written.
 */
export type PooledRefutations = {
  /** Whether no other coordinator lives that may know more. */
  readonly isAlone: () => boolean;
  /** Tells and hears. `refuted`: what we hold against each probe. */
  readonly exchange: (refuted: ReadonlyMap<string, ReadonlyMap<number, number>>) => Promise<void>;
  /** What all know of this probe; undefined as long as some have not said it yet. */
  readonly of: (probe: string) => { readonly targets: number; readonly refuted: number } | undefined;
};

type Parts = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly owner: string;
  /** Who did not say for so long that it lives does not. */
  readonly aliveMs: number;
  /** The hosts that we know this probe to check, as a share has them. */
  readonly hostsOf: (probe: string) => readonly number[];
};

/** Whoever has said nothing of a probe by then, such as an older version, is not waited for. */
const answerMs = 5_000;

export const createPooledRefutations = ({ sql, clock, owner, aliveMs, hostsOf }: Parts): PooledRefutations => {
  let others: readonly Told[] | undefined;
  let own: ReadonlyMap<string, Share> = new Map();
  /** When we first told of a probe, of those that we tell of now; by performance.now(), as all that waits. */
  let toldAt = new Map<string, number>();

  return {
    isAlone: () => others?.length === 0,
    exchange: async (refuted) => {
      const all = await toldOfProbes(sql, owner, aliveMs);
      const now = clock.now();
      const written = all.find(({ coordinator }) => coordinator === owner)?.shares ?? new Map<string, Share>();
      const heard = all.filter(({ coordinator }) => coordinator !== owner);
      const theirs = heard.flatMap(({ shares }) => [...shares].map(([probe, share]) => [probe, share.refuted] as const));
      const doubted = [...refuted, ...theirs].filter(([, known]) => [...known.values()].some((until) => until > now));
      const probes = new Set(heard.length === 0 ? [] : doubted.map(([probe]) => probe));
      const told = new Map([...probes].map((probe) => [probe, shareOf(hostsOf(probe), refuted.get(probe) ?? new Map(), now)]));
      const news = new Map([...told].filter(([probe, share]) => !saysTheSame(share, written.get(probe))));
      const over = [...written.keys()].filter((probe) => !told.has(probe));
      await tellOfProbes(sql, owner, news);
      await untellOfProbes(sql, owner, over);
      toldAt = new Map([...probes].map((probe) => [probe, toldAt.get(probe) ?? performance.now()]));
      [others, own] = [heard, told];
    },
    of: (probe) => {
      const ours = own.get(probe);
      if (!others || !ours) return undefined;
      const theirs = others.flatMap(({ shares }) => shares.get(probe) ?? []);
      const isWhole = theirs.length === others.length || performance.now() - (toldAt.get(probe) ?? performance.now()) > answerMs;
      return isWhole ? together([ours, ...theirs], clock.now()) : undefined;
    },
  };
};
