import { z } from 'zod';
import type { Share } from '../domain/refutation.ts';
import type { Queryable } from './store-database.ts';

/** What coordinators tell each other of probes whose failures are refuted (rule 16). */

/** `shares`: by probe. */
export type Told = { readonly coordinator: string; readonly shares: ReadonlyMap<string, Share> };

const shareShape = z.object({ hosts: z.array(z.number()), refuted: z.array(z.tuple([z.number(), z.number()])) });

/** What this coordinator has told, and what every other that lives and decides has. */
export const toldOfProbes = async (sql: Queryable, owner: string, aliveMs: number): Promise<Told[]> => {
  const rows = await sql<{ coordinator: string; probe: string | null; share: unknown }[]>`
    select c.id as coordinator, r.probe_id as probe, r.share
    from coordinators c left join refutations r on r.coordinator_id = c.id
    where c.id = ${owner} or c.has_bus and c.seen_at > now() - ${aliveMs} * interval '1 millisecond'`;
  const told = new Map<string, Map<string, Share>>();
  for (const { coordinator, probe, share } of rows) {
    const shares = told.get(coordinator) ?? new Map<string, Share>();
    told.set(coordinator, shares);
    if (probe === null) continue;
    const { hosts, refuted } = shareShape.parse(share);
    shares.set(probe, { hosts, refuted: new Map(refuted) });
  }
  return [...told].map(([coordinator, shares]) => ({ coordinator, shares }));
};

/** A coordinator that the database has forgotten tells nothing until it is known again. */
export const tellOfProbes = async (sql: Queryable, owner: string, shares: ReadonlyMap<string, Share>): Promise<void> => {
  if (shares.size === 0) return;
  const rows = [...shares].map(([probe, { hosts, refuted }]) => ({ probe, share: { hosts, refuted: [...refuted] } }));
  await sql`
    insert into refutations (coordinator_id, probe_id, share)
    select c.id, p.id, t.share from json_to_recordset(${JSON.stringify(rows)}::text::json) as t (probe uuid, share jsonb)
    join coordinators c on c.id = ${owner}
    join probes p on p.id = t.probe
    on conflict (coordinator_id, probe_id) do update set share = excluded.share`;
};

export const untellOfProbes = async (sql: Queryable, owner: string, probes: readonly string[]): Promise<void> => {
  if (probes.length === 0) return;
  await sql`delete from refutations where coordinator_id = ${owner} and probe_id = any(${[...probes]}::uuid[])`;
};
