import { z } from 'zod';
import type { Secrets } from '../../shared/checks/config-secrets.ts';
import type { Queryable } from '../database/connect.ts';
import { type SecretsAtRest, secretsOf } from '../secrets/at-rest.ts';

const shape = z.record(z.string(), z.string());

/**
 * The secrets of a monitor's config as they are stored: one encrypted JSON object, or nothing when
 * there are none.
 */
export async function sealSecrets(
  at: SecretsAtRest,
  sql: Queryable,
  monitor: string,
  secrets: Secrets,
): Promise<Buffer | null> {
  return Object.keys(secrets).length === 0
    ? null
    : at.seal(sql, JSON.stringify(secrets), secretsOf(monitor));
}

export async function openSecrets(
  at: SecretsAtRest,
  sql: Queryable,
  monitor: string,
  box: Uint8Array | null,
): Promise<Secrets> {
  return box === null ? {} : shape.parse(JSON.parse(await at.open(sql, box, secretsOf(monitor))));
}
