import { causeSentence } from '../../shared/checks/causes.ts';
import type { Cause, Outcome } from '../../shared/checks/result.ts';

/**
 * What a share link shows of an incident: verdict, times, causes, continents. Never what a target sent, addresses, the target itself, notes of
 * people, or names of probes, which may be an organisation's own.
 */
export type SharedIncident = {
  readonly name: string;
  readonly time_zone: string;
  readonly cause: string | null;
  readonly started_at: Date;
  readonly confirmed_at: Date | null;
  readonly resolved_at: Date | null;
  readonly scope: string | null;
  readonly layer: string | null;
  readonly checks: readonly SharedCheck[];
  readonly samples: readonly { readonly at: number; readonly continent: string; readonly outcome: Outcome }[];
};

type SharedCheck = {
  readonly part: string;
  readonly continent: string | null;
  readonly at: Date;
  readonly outcome: Outcome;
  readonly took_ms: number;
  readonly cause: string | null;
};

/** As the tables have it, which is more than may be shown. */
export type WholeIncident = {
  readonly incident: {
    readonly monitor_name: string;
    readonly cause: Cause | null;
    readonly started_at: Date;
    readonly confirmed_at: Date | null;
    readonly resolved_at: Date | null;
    readonly scope: string | null;
    readonly layer: string | null;
  };
  readonly evidence: readonly (Omit<SharedCheck, 'cause'> & { readonly cause: Cause | null })[];
  readonly samples: readonly { readonly at: number; readonly continent: string; readonly outcome: Outcome }[];
  readonly time_zone: string;
};

const sentenceOf = (cause: Cause | null): string | null => (cause === null ? null : causeSentence(cause));

/** Built up from what may be shown, so that a new column is not shown by itself. */
export const sharedFrom = ({ incident, evidence, samples, time_zone }: WholeIncident): SharedIncident => ({
  name: incident.monitor_name,
  time_zone,
  cause: sentenceOf(incident.cause),
  started_at: incident.started_at,
  confirmed_at: incident.confirmed_at,
  resolved_at: incident.resolved_at,
  scope: incident.scope,
  layer: incident.layer,
  checks: evidence.map(({ part, continent, at, outcome, took_ms, cause }) => ({
    ...{ part, continent, at, outcome, took_ms },
    cause: sentenceOf(cause),
  })),
  samples: samples.map(({ at, continent, outcome }) => ({ at, continent, outcome })),
});
