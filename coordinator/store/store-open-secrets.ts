import type { Config } from '../../shared/checks/assignment.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Queryable } from './store-database.ts';

/** A monitor in whose config a secret stands openly, because it was stored before it counted as one. */
export type OpenSecrets = {
  readonly id: string;
  readonly organisation_id: string;
  readonly partition: number;
  readonly type: Kind;
  readonly config: Config;
  readonly secrets: Uint8Array | null;
};

/** Some of them, locked; of those that somebody changes just now each change puts the secrets apart. */
export const someOpenSecrets = (sql: Queryable, most: number): Promise<OpenSecrets[]> =>
  sql<OpenSecrets[]>`
    select id, organisation_id, partition, type, config, secrets from monitors where type = 'https' and (has_open_secret(config) or has_likely_secret(config))
    order by id limit ${most} for no key update skip locked`;

export const writeSecretsApart = async (sql: Queryable, id: string, config: Config, secrets: Uint8Array): Promise<void> => {
  await sql`update monitors set config = ${JSON.stringify(config)}::text::jsonb, secrets = ${Buffer.from(secrets)} where id = ${id}`;
};
