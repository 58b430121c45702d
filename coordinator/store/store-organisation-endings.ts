import type { Queryable } from './store-database.ts';
import { monitorsAtOnce, switchMonitors, tellOwners } from './store-monitors-at-once.ts';
import { beginMute, endMute } from './store-mutes.ts';

/** Organisations that are about to end: what happens at once, and what undoing puts back. All under the organisation's lock. */

export type NewEnding = { readonly organisation: string; readonly user: string | null; readonly at: Date; readonly endsAt: Date };

/** Pauses what is checked and mutes who is told; how many monitors that were. */
export const beginEnding = async (sql: Queryable, { organisation, user, at, endsAt }: NewEnding): Promise<number> => {
  const monitors = await sql<{ id: string; partition: number }[]>`
    select id, partition from monitors where organisation_id = ${organisation} and enabled order by key`;
  const ids = monitors.map(({ id }) => id);
  await sql`update organisations set ends_at = ${endsAt} where id = ${organisation}`;
  await sql`insert into endings (organisation_id, asked_at, asked_by, paused, muted_until, muted_by)
    select ${organisation}, ${at}, ${user}, ${ids}::uuid[], m.until, m.muted_by from (select 1) as one
    left join (select until, muted_by from mutes where organisation_id = ${organisation} and ended_at is null and until > ${at}
      order by until desc limit 1) m on true`;
  if (ids.length > 0) {
    await switchMonitors(sql, ids, false);
    await tellOwners(sql, organisation, monitors, 'paused');
  }
  await beginMute(sql, { organisation, user, at, until: endsAt });
  return ids.length;
};

/** Puts everything back as it was: what was paused before stays so. How many monitors are checked again; undefined when it is too late. */
export const undoEnding = async (sql: Queryable, organisation: string, at: Date): Promise<number | undefined> => {
  const [ending] = await sql<{ paused: string[]; muted_until: Date | null; muted_by: string | null }[]>`
    delete from endings e using organisations o where e.organisation_id = ${organisation} and o.id = e.organisation_id
      and e.begun_at is null and o.ends_at > ${at}
    returning e.paused, e.muted_until, e.muted_by`;
  if (!ending) return undefined;
  await sql`update organisations set ends_at = null where id = ${organisation}`;
  const { paused, muted_until, muted_by } = ending;
  const monitors = (await monitorsAtOnce(sql, organisation, paused)).filter(({ enabled }) => !enabled);
  if (monitors.length > 0) {
    await switchMonitors(
      sql,
      monitors.map(({ id }) => id),
      true,
    );
    await tellOwners(sql, organisation, monitors, 'resumed');
  }
  await endMute(sql, organisation, at);
  if (muted_until !== null && muted_until > at) await beginMute(sql, { organisation, user: muted_by, at, until: muted_until });
  return monitors.length;
};
