import { z } from 'zod';
import type { Queryable } from '../database/connect.ts';
import { type SecretsAtRest, webhookOf } from '../secrets/at-rest.ts';

/** The address of a webhook, and the secrets that sign what is sent there, newest first. */
const boxShape = z.object({
  url: z.string(),
  secrets: z.array(z.object({ secret: z.string(), until: z.number().nullable() })),
});

type WebhookBox = z.infer<typeof boxShape>;

/** Must run in the transaction that stores it. */
export function sealWebhook(
  at: SecretsAtRest,
  sql: Queryable,
  id: string,
  box: { readonly url: string; readonly secrets: readonly WebhookBox['secrets'][number][] },
): Promise<Buffer> {
  return at.seal(sql, JSON.stringify(box), webhookOf(id));
}

export async function openWebhook(
  at: SecretsAtRest,
  sql: Queryable,
  id: string,
  secrets: Uint8Array,
): Promise<WebhookBox> {
  return boxShape.parse(JSON.parse(await at.open(sql, secrets, webhookOf(id))));
}
