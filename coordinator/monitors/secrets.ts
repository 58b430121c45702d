import { z } from 'zod';
import type { Secrets } from '../../shared/checks/config-secrets.ts';
import type { Queryable } from '../database/connect.ts';
import { type SecretsAtRest, secretsOf } from '../secrets/at-rest.ts';

const shape = z.record(z.string(), z.string());

/** The secrets of a config are stored as one encrypted JSON object, or not at all. */
export async function openSecrets(
  at: SecretsAtRest,
  sql: Queryable,
  monitor: string,
  box: Uint8Array | null,
): Promise<Secrets> {
  return box === null ? {} : shape.parse(JSON.parse(await at.open(sql, box, secretsOf(monitor))));
}
