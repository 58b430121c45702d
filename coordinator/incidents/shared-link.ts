import { type DescribedSides, withoutNames } from '../../shared/base/sides.ts';
import type { Clock } from '../../shared/base/time.ts';
import { causeSentence } from '../../shared/checks/causes.ts';
import type { Cause, Json, Outcome, Phases } from '../../shared/checks/result.ts';
import type { Sql } from '../database/connect.ts';
import type { Results } from '../results/reading.ts';
import { openShare } from '../shares/links.ts';
import { incidentById, incidentEvidence } from './queries.ts';
import { samplesOf } from './sample-queries.ts';
import { type StoredSides, sidesFrom } from './writes.ts';

/**
 * What a share link shows of an incident: verdict, times, causes, continents. It never shows what a
 * target sent, addresses, the target itself, people's notes, or names of probes, which may be an
 * organisation's own.
 */
type SharedIncident = {
  readonly name: string;
  readonly time_zone: string;
  readonly cause: string | null;
  readonly started_at: number;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  readonly scope: string | null;
  readonly layer: string | null;
  readonly sides: DescribedSides | null;
  /** Of the check that failed first. */
  readonly phases: Phases | null;
  /** How many its checks connected to, and not which. */
  readonly addresses: number;
  readonly checks: readonly SharedCheck[];
  readonly samples: readonly {
    readonly at: number;
    readonly continent: string;
    readonly outcome: Outcome;
  }[];
};

type SharedCheck = {
  readonly part: string;
  readonly continent: string | null;
  readonly at: number;
  readonly outcome: Outcome;
  readonly took_ms: number;
  readonly cause: string | null;
  readonly phases: Phases | null;
};

export type Shares = {
  /** What anyone with the link may see; undefined when it was revoked or never existed. */
  readonly read: (text: string) => Promise<SharedIncident | undefined>;
};

export function createShares(sql: Sql, results: Results, clock: Clock): Shares {
  return {
    read: async (text) => {
      const found = await openShare(sql, text, clock.now());
      if (!found || found.incident === null) return undefined;
      const { incident: id, organisation, time_zone } = found;
      const incident = await incidentById(sql, organisation, id);
      if (!incident) return undefined;
      const [evidence, { samples }] = await Promise.all([
        incidentEvidence(sql, id),
        samplesOf(sql, results, organisation, id),
      ]);
      return sharedFrom({ incident, evidence, samples, time_zone });
    },
  };
}

/** The incident as the tables have it, which is more than may be shown. */
type WholeIncident = {
  readonly incident: {
    readonly monitor_name: string;
    readonly cause: Cause | null;
    readonly started_at: number;
    readonly confirmed_at: number | null;
    readonly resolved_at: number | null;
    readonly scope: string | null;
    readonly layer: string | null;
    readonly sides: StoredSides | null;
  };
  readonly evidence: readonly (Omit<SharedCheck, 'cause'> & {
    readonly cause: Cause | null;
    readonly place: string | null;
    readonly evidence: Json;
  })[];
  readonly samples: readonly {
    readonly at: number;
    readonly continent: string;
    readonly outcome: Outcome;
  }[];
  readonly time_zone: string;
};

/** Built from what may be shown, so that a new column is not shown by accident. */
function sharedFrom({ incident, evidence, samples, time_zone }: WholeIncident): SharedIncident {
  const told = sidesFrom(incident.sides, incident.confirmed_at !== null);
  return {
    name: incident.monitor_name,
    time_zone,
    cause: sentenceOf(incident.cause),
    started_at: incident.started_at,
    confirmed_at: incident.confirmed_at,
    resolved_at: incident.resolved_at,
    scope: incident.scope,
    layer: incident.layer,
    sides: told && withoutNames(told),
    phases: evidence.find(({ part }) => part === 'seen')?.phases ?? null,
    addresses: new Set(evidence.flatMap((check) => addressOf(check.evidence))).size,
    // Whose office sees it is nobody else's matter.
    checks: outsideOf(evidence).map(({ part, continent, at, outcome, took_ms, cause, phases }) => ({
      part,
      continent,
      at,
      outcome,
      took_ms,
      cause: sentenceOf(cause),
      phases,
    })),
    samples: samples.map(({ at, continent, outcome }) => ({ at, continent, outcome })),
  };
}

function addressOf(evidence: Json): readonly string[] {
  const isRecord = typeof evidence === 'object' && evidence !== null && 'address' in evidence;
  return isRecord && typeof evidence.address === 'string' ? [evidence.address] : [];
}

function sentenceOf(cause: Cause | null): string | null {
  return cause === null ? null : causeSentence(cause);
}

/** Without private places beside public ones. */
function outsideOf(evidence: WholeIncident['evidence']): WholeIncident['evidence'] {
  const outside = evidence.filter(({ place }) => place === null);
  return outside.length > 0 ? outside : evidence;
}
