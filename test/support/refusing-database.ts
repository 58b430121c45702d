import type { Sql } from '../../coordinator/database/connect.ts';

const ofTheEngine = ['results', 'watermarks', 'incidents', 'incident_evidence', 'ledger', 'checkpoints', 'beats', 'beat_states'] as const;

const full = `language plpgsql as $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$`;

/** From now on the database refuses what the engine writes, as one whose disk is full does; all can be read. Gives what ends it. */
export const refuseWrites = async (sql: Sql, only?: string, when?: string): Promise<() => Promise<void>> => {
  const tables = only === undefined ? ofTheEngine : [only];
  await sql.unsafe(`create or replace function refuse() returns trigger ${full}`);
  const which = when === undefined ? 'for each statement' : `for each row when (${when})`;
  for (const table of tables)
    await sql.unsafe(`create trigger refuse before insert or update on ${table} ${which} execute function refuse()`);
  return async () => {
    for (const table of tables) await sql.unsafe(`drop trigger refuse on ${table}`);
  };
};
