import type { Roster } from '../../shared/checks/assignment.ts';
import { isKind } from '../../shared/checks/kinds.ts';
import { isOutcome } from '../../shared/checks/result.ts';
import type { Directory } from '../probes/probes-directory.ts';
import type { Present } from '../probes/probes-presence.ts';

/** A probe as this coordinator knows it. A private one is named by its id: what its organisation calls it is theirs. */
export type SeenProbe = {
  readonly name: string;
  /** Whose it is. That of an organisation is no word on whether a continent still confirms for the others. */
  readonly of: 'public' | 'private';
  readonly continent: string;
  readonly state: 'well' | 'lost' | 'quarantined';
  /** What it last said of itself; undefined when it was not heard by this coordinator. */
  readonly said:
    | {
        readonly waiting: number;
        readonly bytes: number;
        readonly dropped: number;
        readonly refused: number;
        readonly clockOffsetMs: number | undefined;
        readonly inFlight: number;
        readonly lateMs: number;
        readonly checks: readonly { readonly kind: string; readonly outcome: string; readonly count: number }[];
      }
    | undefined;
};

type Parts = {
  readonly roster: Roster;
  readonly directory: Pick<Directory, 'byId'>;
  readonly presentOf: (probe: string) => Present | undefined;
};

export const seenProbes = ({ roster, directory, presentOf }: Parts): readonly SeenProbe[] =>
  roster.probes.map(({ id, continent, organisation, healthy, quarantined }) => {
    const message = healthy ? presentOf(id)?.message : undefined;
    return {
      name: organisation === null ? (directory.byId(id)?.name ?? id) : id,
      of: organisation === null ? 'public' : 'private',
      continent,
      state: healthy ? (quarantined ? 'quarantined' : 'well') : 'lost',
      said: message && {
        ...{ waiting: message.spool.waiting, bytes: message.spool.bytes, dropped: message.spool.dropped, refused: message.refused ?? 0 },
        ...{ clockOffsetMs: message.clock_offset_ms, inFlight: message.load.in_flight, lateMs: message.load.late_ms },
        // What a probe of another release, or of somebody's own making, calls otherwise is no row of its own here.
        checks: (message.checks ?? []).filter(({ kind, outcome }) => isKind(kind) && isOutcome(outcome)),
      },
    };
  });
