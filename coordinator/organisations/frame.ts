import type { OutputOf } from '../../shared/api/operation.ts';
import type { Queryable } from '../database/connect.ts';
import { limited, ms } from '../database/sql.ts';
import { handle } from '../gate/bind.ts';
import { muteOf } from '../notifications/mute-queries.ts';
import { obstacleOf } from '../notifications/policy.ts';
import * as contract from '../web/contract.ts';

export const showFrame = handle(contract.showFrame)(
  async ({ sql, organisation, now, with: { door } }) => {
    const row = await readFrame(sql, organisation.id, now);
    return {
      outages: row.outages,
      mute:
        row.mute === null
          ? { until: null, by: null }
          : { until: new Date(row.mute.until).toISOString(), by: row.mute.by },
      delivery: deliveryOf(row, door.mail, now),
    };
  },
);

type FrameRow = {
  readonly outages: number;
  /** As text: it comes from JSON. */
  readonly mute: { readonly until: string; readonly by: string | null } | null;
  readonly channels: readonly {
    readonly id: string;
    readonly name: string;
    readonly kind: string;
    readonly is_open: boolean;
    readonly is_verified: boolean;
    readonly failing_since: number | null;
    readonly refused_at: number | null;
  }[];
  readonly has_monitors: boolean;
};

/** The most that are counted: a figure of the navigation. */
const mostOutages = 1_000;

/** One statement: every page asks this. */
async function readFrame(sql: Queryable, organisation: string, at: number): Promise<FrameRow> {
  const [row] = await sql<FrameRow[]>`
    select
      (select count(*) from (select from incidents where organisation_id = ${organisation}
        and resolved_at is null and confirmed_at is not null ${limited(sql, mostOutages)}) i)
        as outages,
      (select row_to_json(u) from (${muteOf(sql, organisation, at)}) u) as mute,
      (select coalesce(json_agg(c), '[]') from (
        select id, name, kind, enabled and unsubscribed_at is null as is_open,
          verified_at is not null as is_verified, ${ms(sql, 'failing_since')} as failing_since,
          ${ms(sql, 'refused_at')} as refused_at
        from channels where organisation_id = ${organisation} and deleted_at is null
        order by key) c) as channels,
      exists (select from monitors where organisation_id = ${organisation}) as has_monitors`;
  if (row === undefined) throw new Error('the frame of a page has no row');
  return row;
}

/** Before an outage: which channels would not deliver an alert, and whether any would. */
function deliveryOf(
  { channels, has_monitors }: FrameRow,
  hasMail: boolean,
  now: number,
): OutputOf<typeof contract.showFrame>['delivery'] {
  const open = channels.flatMap(({ is_open, ...channel }) =>
    is_open ? [{ ...channel, obstacle: obstacleOf(channel, hasMail, now) }] : [],
  );
  // Without mail, one that was never confirmed cannot be: that is its obstacle.
  const failing = open.flatMap(({ id, name, obstacle, is_verified }) =>
    obstacle !== undefined && (is_verified || obstacle === 'mail_missing')
      ? [{ channel: id, name, obstacle }]
      : [],
  );
  const isNeeded = channels.length > 0 || has_monitors;
  return {
    channels: channels.length,
    can_deliver:
      !isNeeded || open.some(({ obstacle, is_verified }) => is_verified && obstacle === undefined),
    failing,
  };
}
