import type { Queryable } from './store-database.ts';
import { enqueue } from './store-outbox.ts';

/** A heartbeat's token: its fingerprint for those who know the token, and the token itself, encrypted, for the monitor's page. */
export type PingTokenRow = { readonly fingerprint: string; readonly monitor: string; readonly organisation: string; readonly box: Buffer };

/** Writes the token and tells the ping receivers that its key exists. */
export const insertPingToken = async (sql: Queryable, { fingerprint, monitor, organisation, box }: PingTokenRow): Promise<void> => {
  await sql`insert into beat_tokens (fingerprint, organisation_id, monitor_id, token)
    values (${Buffer.from(fingerprint, 'hex')}, ${organisation}, ${monitor}, ${box})`;
  await enqueue(sql, { topic: 'beat_key', payload: { key: fingerprint, monitor, until: null }, partition: null, organisation });
};

/** Before a monitor goes, the ping receivers hear that its keys are none any more. */
export const endPingTokens = async (sql: Queryable, organisation: string, monitor: string): Promise<void> => {
  const rows = await sql<{ key: string }[]>`
    delete from beat_tokens where monitor_id = ${monitor} and organisation_id = ${organisation} returning encode(fingerprint, 'hex') as key`;
  for (const { key } of rows)
    await enqueue(sql, { topic: 'beat_key', payload: { key, monitor: null, until: null }, partition: null, organisation });
};

/** The encrypted token of a heartbeat monitor that is in force. */
export const pingTokenBox = async (sql: Queryable, organisation: string, monitor: string): Promise<Uint8Array | undefined> => {
  const [row] = await sql<{ token: Uint8Array }[]>`
    select token from beat_tokens where monitor_id = ${monitor} and organisation_id = ${organisation} and until is null`;
  return row?.token;
};

/**
 * The token in force gets an end, and those that were rotated out before end no later; the next one is written by `insertBeatToken`. False
 * when there was none.
 */
export const retirePingTokens = async (sql: Queryable, organisation: string, monitor: string, until: number): Promise<boolean> => {
  const rows = await sql<{ key: string }[]>`
    update beat_tokens set until = ${new Date(until)}
    where monitor_id = ${monitor} and organisation_id = ${organisation} and (until is null or until > ${new Date(until)})
    returning encode(fingerprint, 'hex') as key`;
  for (const { key } of rows) await enqueue(sql, { topic: 'beat_key', payload: { key, monitor, until }, partition: null, organisation });
  return rows.length > 0;
};
