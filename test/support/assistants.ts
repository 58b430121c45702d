/** For test files: an assistant that is connected already, without the signing-in that leads to it. */
import { randomBytes } from 'node:crypto';
import { createAssistantKey, recordFingerprint, resourceOf } from '../../coordinator/assistants/connections.ts';
import { insertConnection } from '../../coordinator/assistants/queries.ts';
import type { Sql } from '../../coordinator/database/connect.ts';
import type { Scope } from '../../coordinator/organisations/model.ts';
import { newId } from '../../shared/base/crypto.ts';
import { type Person, testSecretKey } from './people.ts';

type Options = {
  readonly baseUrl: string;
  readonly scope?: Scope;
  readonly client?: string;
  /** By the clock of whoever will be asked. */
  readonly now?: number;
};

/** Makes a connection of this person's, with an access token that is good for a quarter of an hour. */
export const connectAssistant = async (
  sql: Sql,
  { organisation, user }: Pick<Person, 'organisation' | 'user'>,
  { baseUrl, scope = 'read_write', client = 'Test Assistant', now = Date.now() }: Options,
): Promise<{ readonly connection: string; readonly token: string }> => {
  const [connection, token] = [newId(), randomBytes(32).toString('base64url')];
  const created_at = new Date(now);
  const about = { client_id: 'a-test', client_name: client, redirect_host: 'localhost' };
  await insertConnection(sql, { id: connection, organisation, user, ...about, scope, created_at });
  const fingerprint = recordFingerprint(await createAssistantKey(sql, { secretKey: testSecretKey })(), 'AccessToken', token);
  await sql`insert into oauth_records (model, fingerprint, connection_id, payload, created_at, expires_at)
    values ('AccessToken', ${fingerprint}, ${connection}, ${JSON.stringify({ aud: resourceOf(baseUrl) })}::text::jsonb, ${created_at}, ${new Date(now + 900_000)})`;
  return { connection, token };
};
