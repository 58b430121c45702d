import type { Cause, Json, Outcome, Phases } from '../../shared/checks/result.ts';
import type { Queryable } from './store-database.ts';
import { outcomeOf } from './store-results.ts';

export type ShownIncident = {
  readonly key: number;
  readonly id: string;
  readonly monitor_id: string;
  readonly monitor_name: string;
  readonly cause: Cause | null;
  readonly started_at: Date;
  readonly confirmed_at: Date | null;
  readonly resolved_at: Date | null;
  readonly seen_probe: string | null;
  readonly seen_continent: string | null;
  readonly confirmed_probe: string | null;
  readonly confirmed_continent: string | null;
  readonly note: string | null;
  readonly scope: string | null;
  readonly layer: string | null;
  readonly acknowledged_at: Date | null;
  /** In words: a person's name, or the channel whose link was followed. */
  readonly acknowledged_as: string | null;
};

const shown = (
  sql: Queryable,
) => sql`i.key, i.id, i.monitor_id, m.name as monitor_name, i.cause, i.started_at, i.confirmed_at, i.resolved_at,
  i.seen_probe, i.seen_continent, i.confirmed_probe, i.confirmed_continent, i.note, i.scope, i.layer, i.acknowledged_at, i.acknowledged_as`;

export type IncidentFilter = {
  readonly state: 'all' | 'open' | 'resolved';
  readonly monitor: string | null;
  /** Those that are over must have ended after this; open ones are always among them. */
  readonly since: number;
};

export const incidentPage = (
  sql: Queryable,
  organisation: string,
  { state, monitor, since }: IncidentFilter,
  before: number,
  most: number,
): Promise<ShownIncident[]> =>
  sql<ShownIncident[]>`
    select ${shown(sql)} from incidents i join monitors m on m.id = i.monitor_id
    where i.organisation_id = ${organisation} and i.key < ${before}
      and (i.resolved_at is null or i.resolved_at >= ${new Date(since)})
      ${state === 'open' ? sql`and i.resolved_at is null` : state === 'resolved' ? sql`and i.resolved_at is not null` : sql``}
      ${monitor === null ? sql`` : sql`and i.monitor_id = ${monitor}`}
    order by i.key desc limit ${most}`;

export const incidentById = async (sql: Queryable, organisation: string, id: string): Promise<ShownIncident | undefined> => {
  const [row] = await sql<ShownIncident[]>`
    select ${shown(sql)} from incidents i join monitors m on m.id = i.monitor_id where i.organisation_id = ${organisation} and i.id = ${id}`;
  return row;
};

export type ShownEvidence = {
  readonly part: 'seen' | 'confirmed' | 'matrix';
  /** null: a job said so itself. */
  readonly continent: string | null;
  readonly probe: string;
  readonly at: Date;
  readonly outcome: Outcome;
  readonly took_ms: number;
  readonly cause: Cause | null;
  readonly phases: Phases | null;
  readonly evidence: Json;
};

/** What the failing checks saw and what everybody else saw (rule 15): first the seeing check, then the confirming one, then the matrix. */
export const incidentEvidence = async (sql: Queryable, id: string): Promise<readonly ShownEvidence[]> => {
  const rows = await sql<(Omit<ShownEvidence, 'outcome'> & { outcome: number })[]>`
    select part, nullif(continent, '') as continent, probe, at, outcome, took_ms, cause, phases, evidence from incident_evidence where incident_id = ${id}
    order by array_position(array['seen', 'confirmed', 'matrix'], part), incident_evidence.continent`;
  return rows.map((row) => ({ ...row, outcome: outcomeOf(row.outcome) }));
};

export type Told = {
  readonly event: 'down' | 'up' | 'closed';
  readonly channel: string;
  readonly state: 'held' | 'due' | 'sent' | 'dropped';
  readonly due_at: Date | null;
  readonly settled_at: Date | null;
};

/** What was told of an incident, or is held back, in order. */
export const toldOf = (sql: Queryable, organisation: string, incident: string): Promise<Told[]> =>
  sql<Told[]>`
    select event, channel, state, due_at, settled_at from alerts where organisation_id = ${organisation} and incident_id = ${incident} order by id`;
