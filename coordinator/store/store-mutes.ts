import { newId } from '../../shared/base/crypto.ts';
import type { Queryable } from './store-database.ts';

/** When everything is quiet (rule 36). */

export type MuteRow = { readonly until: Date; readonly by: string | null };

export const muteNow = async (sql: Queryable, organisation: string, at: Date): Promise<MuteRow | undefined> => {
  const [row] = await sql<MuteRow[]>`
    select m.until, coalesce(nullif(u.name, ''), u.email) as by from mutes m left join users u on u.id = m.muted_by
    where m.organisation_id = ${organisation} and m.ended_at is null and m.until > ${at} order by m.until desc limit 1`;
  return row;
};

/** One mute at a time: another one takes the place of the one before. What is held is asked again. */
export const endMute = async (sql: Queryable, organisation: string, at: Date): Promise<void> => {
  await sql`update mutes set ended_at = ${at} where organisation_id = ${organisation} and ended_at is null and until > ${at}`;
  await sql`update alert_steps set look_at = ${at} where organisation_id = ${organisation} and state = 'held' and holds -> -1 ->> 0 = 'mute'
    and look_at > ${at}`;
};

export const beginMute = async (
  sql: Queryable,
  {
    organisation,
    user,
    at,
    until,
  }: { readonly organisation: string; readonly user: string | null; readonly at: Date; readonly until: Date },
): Promise<void> => {
  await endMute(sql, organisation, at);
  await sql`insert into mutes (id, organisation_id, began_at, until, muted_by) values (${newId()}, ${organisation}, ${at}, ${until}, ${user})`;
};
