import { envelopesAbility } from '../../shared/bus/envelope.ts';
import type { Sql } from '../database/connect.ts';
import { readSinglePlaces, someoneKnowsNoEnvelopes, writeSinglePlaces } from '../engine/queries.ts';
import type { Directory } from './directory.ts';
import type { ProbeRow } from './queries.ts';

/**
 * In which form the probes of each place get their assignments. All coordinators read it from the
 * database; the leader writes it.
 *
 * Modes of a place: `single` (one of its probes that was heard of late knows no envelopes) ↔
 * `enveloped`. While a coordinator of the version before runs, all places are `single`. Before a
 * place becomes `enveloped`, the consumers of its probes are made to deliver envelopes.
 */
export type AssignmentForms = {
  /** A place: a continent, or a private place. */
  readonly isEnveloped: (place: string) => boolean;
  /** The places that are single; null: all. */
  readonly single: () => readonly string[] | null;
  readonly refresh: () => Promise<void>;
  /** For one coordinator: decides for all. `prepare` makes the consumers of all probes as they are to be. */
  readonly settle: (prepare: () => Promise<void>) => Promise<void>;
  readonly onChange: (listener: () => void) => void;
};

/** The place whose key a probe has. */
export const keyPlaceOf = ({
  place_id,
  continent,
}: Pick<ProbeRow, 'place_id' | 'continent'>): string => place_id ?? continent;

/** A probe that was silent for longer waits for single assignments when it is back. */
export const rememberedForMs = 14 * 86_400_000;

/** Places with a probe that knows no envelopes. One that was never heard may be of any version. */
export const singlePlacesOf = (
  probes: readonly Pick<
    ProbeRow,
    'kinds' | 'last_seen_at' | 'revoked_at' | 'place_id' | 'continent'
  >[],
  now: number,
): readonly string[] => {
  const older = probes.filter(
    ({ kinds, last_seen_at, revoked_at }) =>
      revoked_at === null &&
      last_seen_at !== null &&
      now - last_seen_at.getTime() < rememberedForMs &&
      !kinds.includes(envelopesAbility),
  );
  return [...new Set(older.map(keyPlaceOf))].toSorted();
};

const isSame = (one: readonly string[] | null, other: readonly string[] | null): boolean =>
  one?.join() === other?.join();

export const createAssignmentForms = ({
  sql,
  clock,
  directory,
  aliveMs,
}: {
  readonly sql: Sql;
  readonly clock: { readonly now: () => number };
  readonly directory: Pick<Directory, 'all'>;
  readonly aliveMs: number;
}): AssignmentForms => {
  const listeners: (() => void)[] = [];
  let single: readonly string[] | null = null;

  const adopt = (next: readonly string[] | null): void => {
    if (isSame(single, next)) return;
    single = next;
    for (const listener of listeners) listener();
  };

  /** False while a coordinator of the version before runs: it believes in single ones alone. */
  const read = async (): Promise<boolean> => {
    const [stored, isMixed] = await Promise.all([
      readSinglePlaces(sql),
      someoneKnowsNoEnvelopes(sql, aliveMs),
    ]);
    // So that consumers are prepared again before the next envelope.
    if (isMixed && stored !== null) await writeSinglePlaces(sql, null);
    adopt(isMixed ? null : stored);
    return !isMixed;
  };

  return {
    isEnveloped: (place) => single !== null && !single.includes(place),
    single: () => single,
    refresh: async () => {
      await read();
    },
    settle: async (prepare) => {
      if (!(await read())) return;
      const wanted = singlePlacesOf(directory.all(), clock.now());
      if (isSame(single, wanted)) return;
      if (single === null || single.some((place) => !wanted.includes(place))) await prepare();
      await writeSinglePlaces(sql, wanted);
      adopt(wanted);
    },
    onChange: (listener) => void listeners.push(listener),
  };
};
