import type { Queryable } from './store-database.ts';

/** What was told, and how it came about (rule 40), is forgotten after its time: but for incidents that are still open, whose end is yet to be told. */

const isOver = (sql: Queryable) => sql`not exists (select 1 from incidents i where i.id = t.incident_id and i.resolved_at is null)`;

/** One bite of each table, the oldest first, each found by an index; whether there may be more. */
export const forgetTold = async (
  sql: Queryable,
  { told, tests }: { readonly told: Date; readonly tests: Date },
  most: number,
): Promise<boolean> => {
  const deleted = [
    await sql`delete from alert_steps where id in (
      select t.id from alert_steps t where t.created_at < ${told} and t.state <> 'held' and ${isOver(sql)} order by t.created_at limit ${most})`,
    await sql`delete from messages where id in (
      select m.id from messages m where m.created_at < ${told} and m.state <> 'waiting'
        and not exists (select 1 from alert_steps s where s.message_id = m.id) order by m.created_at limit ${most})`,
    await sql`delete from alerts where id in (
      select t.id from alerts t where t.created_at < ${told} and t.state <> 'held' and ${isOver(sql)} order by t.created_at limit ${most})`,
    await sql`delete from last_resorts where incident_id in (
      select t.incident_id from last_resorts t where t.at < ${told} and ${isOver(sql)} order by t.at limit ${most})`,
    await sql`delete from mutes where id in (select id from mutes where until < ${told} order by until limit ${most})`,
    await sql`delete from channel_tests where ctid = any(array(select ctid from channel_tests where at < ${tests} order by at limit ${most}))`,
    await sql`delete from channels where id in (
      select c.id from channels c where c.deleted_at < ${told} and not exists (select 1 from messages m where m.channel_id = c.id)
        and not exists (select 1 from alert_steps s where s.channel_id = c.id) order by c.deleted_at limit ${most})`,
  ];
  return deleted.some(({ count }) => count === most);
};
