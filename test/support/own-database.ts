import { afterAll } from 'vitest';
import { connect, type Sql } from '../../coordinator/database/connect.ts';
import { createDatabase, type TestDatabase } from './services.ts';

/** For a test file, at its top: a database of its own until its last test is done, and connections to it. */
export const ownDatabase = async (options?: Parameters<typeof connect>[1]): Promise<{ database: TestDatabase; sql: Sql }> => {
  const database = await createDatabase();
  const sql = connect(database.url, options);
  afterAll(async () => {
    await sql.end();
    await database.drop();
  });
  return { database, sql };
};
