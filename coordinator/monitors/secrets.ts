import { z } from 'zod';
import type { Config } from '../../shared/checks/assignment.ts';
import { asSplit } from '../../shared/checks/config.ts';
import type { Secrets } from '../../shared/checks/config-secrets.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import type { Queryable } from '../database/connect.ts';
import { type SecretsAtRest, secretsOf } from '../secrets/at-rest.ts';
import { notifyOwner } from './queries.ts';

/**
 * A monitor whose config holds an unencrypted secret, because it was stored before its key counted
 * as secret.
 */
export type OpenSecrets = {
  readonly id: string;
  readonly organisation_id: string;
  readonly partition: number;
  readonly type: Kind;
  readonly config: Config;
  readonly secrets: Uint8Array | null;
};

/**
 * Some of them, locked. Those that someone is changing now are skipped: every change separates the
 * secrets.
 */
export const someOpenSecrets = (sql: Queryable, limit: number): Promise<OpenSecrets[]> =>
  sql<OpenSecrets[]>`
    select id, organisation_id, partition, type, config, secrets from monitors where type = 'https'
      and (has_open_secret(config) or has_likely_secret(config))
    order by id limit ${limit} for no key update skip locked`;

export const writeSecretsApart = async (
  sql: Queryable,
  id: string,
  config: Config,
  secrets: Uint8Array,
): Promise<void> => {
  await sql`update monitors
    set config = ${JSON.stringify(config)}::text::jsonb, secrets = ${Buffer.from(secrets)}
    where id = ${id}`;
};

const shape = z.record(z.string(), z.string());

/** Encrypts and decrypts the secrets of monitors, as JSON. */
export type MonitorSecrets = {
  readonly open: (row: Pick<OpenSecrets, 'id' | 'secrets'>) => Promise<string>;
  readonly seal: (sql: Queryable, monitor: string, text: string) => Promise<Buffer>;
};

/**
 * Encrypts some unencrypted secrets of configs, as more keys come to count as secret. Returns the
 * number of monitors. What is checked stays the same, but assignments are sent to the probes again,
 * so that the old text is gone from the bus too.
 */
export const sealOpenSecrets = async (
  sql: Queryable,
  { open, seal }: MonitorSecrets,
  limit: number,
): Promise<number> => {
  const rows = await someOpenSecrets(sql, limit);
  for (const row of rows) {
    const { id, organisation_id: organisation, partition, type, config } = row;
    const apart = asSplit(type, config, shape.parse(JSON.parse(await open(row))));
    await writeSecretsApart(
      sql,
      id,
      apart.open,
      await seal(sql, id, JSON.stringify(apart.secrets)),
    );
    await notifyOwner(
      sql,
      { organisation, partition },
      { monitor: id, change: 'edited', what_is_checked_changed: false },
    );
  }
  return rows.length;
};

/**
 * The secrets of a monitor's config as they are stored: one encrypted JSON object, or nothing when
 * there are none.
 */
export const sealSecrets = async (
  at: SecretsAtRest,
  sql: Queryable,
  monitor: string,
  secrets: Secrets,
): Promise<Buffer | null> =>
  Object.keys(secrets).length === 0
    ? null
    : at.seal(sql, JSON.stringify(secrets), secretsOf(monitor));

export const openSecrets = async (
  at: SecretsAtRest,
  sql: Queryable,
  monitor: string,
  box: Uint8Array | null,
): Promise<Secrets> =>
  box === null ? {} : shape.parse(JSON.parse(await at.open(sql, box, secretsOf(monitor))));
