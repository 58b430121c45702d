import type { Queryable } from '../database/connect.ts';
import { handle } from '../gate/bind.ts';
import { notFound } from '../gate/context.ts';
import { monitorById } from '../monitors/queries.ts';
import { isTheirs } from './channel-operations.ts';
import * as contract from './contract.ts';

/**
 * The channels of one monitor, seen from the monitor: a channel lists its monitors, and the form of
 * a monitor ticks its channels.
 */

type ChannelRow = {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly delay_s: number;
  readonly user_id: string | null;
  readonly owner: string | null;
  readonly covers: 'all' | 'chosen';
  readonly chosen: boolean;
};

export const listMonitorChannels = handle(contract.listMonitorChannels)(
  async (context, { monitor }) => {
    const { sql, organisation } = context;
    if (monitor !== null) await monitorById(sql, organisation.id, monitor);
    const rows = await channelsFor(sql, organisation.id, monitor);
    return {
      items: rows.map(({ user_id, covers, chosen, ...rest }) => ({
        ...rest,
        has_all: covers === 'all',
        chosen: chosen || covers === 'all',
        may_change: covers === 'chosen' && isTheirs(context, user_id),
      })),
    };
  },
);

function channelsFor(
  sql: Queryable,
  organisation: string,
  monitor: string | null,
): Promise<ChannelRow[]> {
  return sql<ChannelRow[]>`
  select c.id, c.name, c.kind, c.delay_s, c.user_id, u.email as owner, c.covers,
    exists (select from channel_choices m
      where m.channel_id = c.id and m.monitor_id = ${monitor}) as chosen
  from channels c left join users u on u.id = c.user_id
  where c.organisation_id = ${organisation} and c.deleted_at is null
  order by c.delay_s, c.name, c.id`;
}

/** Channels for all monitors, and those that the caller may not change, stay as they are. */
export const setMonitorChannels = handle(contract.setMonitorChannels)(
  async (context, { monitor_id, channels }) => {
    const { sql, organisation, note } = context;
    await monitorById(sql, organisation.id, monitor_id);
    const rows = await channelsFor(sql, organisation.id, monitor_id);
    if (channels.some((id) => rows.every((row) => row.id !== id)))
      throw notFound('channel_not_found');
    const theirs = rows.filter((row) => row.covers === 'chosen' && isTheirs(context, row.user_id));
    const wanted = new Set(channels);
    const added = theirs.filter(({ id, chosen }) => wanted.has(id) && !chosen);
    const removed = theirs.filter(({ id, chosen }) => !wanted.has(id) && chosen);
    await sql`
    insert into channel_choices (channel_id, monitor_id)
    select id, ${monitor_id} from unnest(${added.map(({ id }) => id)}::uuid[]) as t (id)
    on conflict do nothing`;
    await sql`
    delete from channel_choices
    where monitor_id = ${monitor_id} and channel_id = any(${removed.map(({ id }) => id)}::uuid[])`;
    const names = (some: readonly ChannelRow[]): readonly string[] => some.map(({ name }) => name);
    const before = rows.filter(({ chosen }) => chosen);
    note({
      before: { channels: names(before) },
      after: {
        channels: names([...before.filter((each) => !removed.includes(each)), ...added]),
      },
    });
    return { changed: added.length + removed.length };
  },
);
