import { z } from 'zod';
import { executeAll, type Queryable, type Statement } from './connect.ts';

/**
 * What a transaction wants done outside the database: written with it, done after it, at least once
 * and in order of id.
 */
const payloads = {
  /**
   * The partition's owner applies it to the monitor's state, and publishes its assignment or its
   * deletion marker.
   */
  monitor: z.object({
    monitor: z.uuid(),
    change: z.enum(['created', 'edited', 'paused', 'resumed', 'deleted', 'restored']),
    /** Whether the config version went up. */
    what_is_checked_changed: z.boolean(),
    /** Of a restored one: since when it was not checked, and whether it was paused then. */
    restored: z.object({ unchecked_since: z.number(), is_paused: z.boolean() }).optional(),
  }),
  /** A key of a heartbeat's address (a fingerprint, hexadecimal) changed. */
  ping_key: z.object({ key: z.string() }),
  probe: z.object({ probe: z.uuid(), change: z.enum(['created', 'rotated', 'revoked']) }),
  /** The partition's owner processes a set-aside message again. */
  set_aside: z.object({ id: z.number() }),
} as const;

type Topic = keyof typeof payloads;
type Payload<Of extends Topic> = z.infer<(typeof payloads)[Of]>;
export type MonitorChange = Payload<'monitor'>;

export type OutboxRow<Of extends Topic> = {
  readonly id: number;
  readonly at: number;
  readonly organisation: string | null;
  readonly payload: Payload<Of>;
};

/** The channel of NOTIFY; its payload is `topic` or `topic:partition`. */
export const outboxChannel = 'outbox';

type Written<Of extends Topic> = {
  readonly topic: Of;
  readonly payload: Payload<Of>;
  readonly partition: number | null;
  readonly organisation: string | null;
};

/**
 * Writes a row and wakes the readers of its topic, both with the commit of the surrounding
 * transaction.
 */
export async function enqueue<Of extends Topic>(
  sql: Queryable,
  { topic, payload, partition, organisation }: Written<Of>,
): Promise<void> {
  await sql`insert into outbox (topic, partition, organisation_id, payload)
    values (${topic}, ${partition}, ${organisation}, ${JSON.stringify(payload)}::text::jsonb)`;
  await sql`select pg_notify(${outboxChannel},
    ${partition === null ? topic : `${topic}:${partition}`})`;
}

/** Writes many rows in order, and wakes each reader once. */
export async function enqueueAll<Of extends Topic>(
  sql: Queryable,
  lines: readonly Written<Of>[],
): Promise<void> {
  if (lines.length === 0) return;
  await sql`insert into outbox (topic, partition, organisation_id, payload)
    select l.topic, l.partition, l.organisation, l.payload
    from jsonb_to_recordset(${JSON.stringify(lines)}::text::jsonb) as l (topic text,
      partition smallint, organisation uuid, payload jsonb)`;
  const readers = new Set(
    lines.map(({ topic, partition }) => (partition === null ? topic : `${topic}:${partition}`)),
  );
  await sql`select pg_notify(${outboxChannel}, reader)
    from unnest(${[...readers]}::text[]) as t (reader)`;
}

/**
 * The oldest waiting rows of a topic and, where it has them, of a partition. An unreadable row is
 * returned as a fault, not skipped.
 */
export async function waitingRows<Of extends Topic>(
  sql: Queryable,
  topic: Of,
  partition: number | null,
  limit: number,
): Promise<OutboxRow<Of>[]> {
  const rows = await sql<
    { id: number; created_at: number; organisation_id: string | null; payload: unknown }[]
  >`
    select id, created_at, organisation_id, payload from outbox
    where done_at is null and topic = ${topic} and partition is not distinct from ${partition}
    order by id limit ${limit}`;
  const shape: z.ZodType<Payload<Of>> = z
    .any()
    .transform((value) => value)
    .pipe(payloads[topic]);
  return rows.map(({ id, created_at, organisation_id, payload }) => ({
    id,
    at: created_at,
    organisation: organisation_id,
    payload: shape.parse(payload),
  }));
}

/**
 * Which of these partitions have waiting rows: one query for all costs as much as one for a single
 * partition.
 */
export async function partitionsWaiting(
  sql: Queryable,
  partitions: readonly number[],
): Promise<number[]> {
  const topics: readonly Topic[] = ['monitor', 'set_aside'];
  const rows = await sql<{ partition: number }[]>`
    select distinct partition from outbox
    where done_at is null and topic = any(${topics})
      and partition = any(${partitions}::smallint[])`;
  return rows.map(({ partition }) => partition);
}

export function rowsDone(sql: Queryable, ids: readonly number[]): Statement[] {
  return ids.length === 0 ? [] : [sql`update outbox set done_at = now() where id = any(${ids})`];
}

export function markDone(sql: Queryable, ids: readonly number[]): Promise<void> {
  return executeAll(rowsDone(sql, ids));
}

/** Deletes rows a week after they are done; until then they help to investigate. */
export async function forgetDone(sql: Queryable): Promise<void> {
  await sql`delete from outbox where done_at < now() - interval '7 days'`;
}
