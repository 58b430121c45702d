import { z } from 'zod';
import type { Continent } from '../../shared/base/continents.ts';
import { type Share, together } from '../domain/refutation.ts';
import type { Queryable } from './store-database.ts';
import { notBelieved } from './store-probes.ts';

/** What there is to know of probes by whom they check for: their health, and why to believe them or not. */

const shareShape = z.object({ hosts: z.array(z.number()), refuted: z.array(z.tuple([z.number(), z.number()])) });

/** A coordinator that was not seen for so long tells nothing any more. */
const aliveMs = 60_000;

export type Refuted = { readonly targets: number; readonly refuted: number };

/** Of each probe that anything is refuted of: how many distinct hosts it checks, and how many of them others saw otherwise (rule 16). */
export const refutedShares = async (sql: Queryable, now: number): Promise<ReadonlyMap<string, Refuted>> => {
  const rows = await sql<{ probe_id: string; share: unknown }[]>`
    select r.probe_id, r.share from refutations r join coordinators c on c.id = r.coordinator_id
    where c.seen_at > ${new Date(now - aliveMs)}`;
  const shares = new Map<string, Share[]>();
  for (const { probe_id, share } of rows) {
    const { hosts, refuted } = shareShape.parse(share);
    shares.set(probe_id, [...(shares.get(probe_id) ?? []), { hosts, refuted: new Map(refuted) }]);
  }
  return new Map([...shares].map(([probe, own]) => [probe, together(own, now)]));
};

export type CheckerRow = {
  readonly id: string;
  readonly name: string;
  readonly continent: Continent;
  readonly is_private: boolean;
  readonly version: string | null;
  readonly created_at: Date;
  readonly last_seen_at: Date | null;
  readonly is_lost: boolean;
  readonly quarantined_at: Date | null;
  readonly quarantine_reason: string | null;
  readonly doubted_at: Date | null;
  readonly doubt_reason: string | null;
  readonly place_trusted_as: string | null;
  readonly clock_offset_ms: number | null;
  /** Distinct monitors of the organisation that it looked at since then, and how often. */
  readonly monitors: number;
  readonly checks: number;
  /** Whether any result of it was ever committed. */
  readonly has_checked: boolean;
};

/** Public probes that were ever heard, and all private ones of the organisation, by continent. */
export const checkersFor = (sql: Queryable, organisation: string, since: Date): Promise<CheckerRow[]> => sql<CheckerRow[]>`
  with looked as (
    select r.probe_key, count(distinct r.monitor_key) as monitors, count(*) as checks
    from monitors m join results r on r.monitor_key = m.key and r.at > ${since}
    where m.organisation_id = ${organisation} group by r.probe_key)
  select p.id, p.name, p.continent, p.organisation_id is not null as is_private, p.version, p.created_at, p.last_seen_at,
    ${notBelieved(sql)}, p.doubted_at, p.doubt_reason, p.place_trusted_as, p.clock_offset_ms, coalesce(l.monitors, 0) as monitors, coalesce(l.checks, 0) as checks,
    exists (select 1 from watermarks w where w.probe_key = p.key) as has_checked,
    exists (select 1 from notices n where n.kind = 'probe_lost' and n.subject = p.id::text and n.ended_at is null) as is_lost
  from probes p left join looked l on l.probe_key = p.key
  where p.revoked_at is null and (p.organisation_id = ${organisation} or p.organisation_id is null and p.last_seen_at is not null)
  order by p.continent, p.name limit 200`;
