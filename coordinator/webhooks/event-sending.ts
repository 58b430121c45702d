import { postMails } from '../account-mail/queries.ts';
import type { Transaction } from '../database/connect.ts';
import type { Answered } from '../deliveries/model.ts';
import {
  cancelWaiting,
  createSending,
  type Kind,
  type Outcome,
  type Sending,
  type SendingDependencies,
} from '../deliveries/sending.ts';
import { type EventRow, eventColumns, eventJson } from '../events/queries.ts';
import { signedPost } from '../notifications/kinds/webhook.ts';
import { ownersOf } from '../notifications/last-resort.ts';
import type { Sender } from '../notifications/transport.ts';
import type { SecretsAtRest } from '../secrets/at-rest.ts';
import { type HealthRow, handOn, healthOf, isAnyOn, writeHealth } from './delivery-queries.ts';
import {
  afterAttempt,
  attempted,
  eventPauses,
  validSecrets,
  type WebhookHealth,
  webhookContent,
} from './model.ts';
import { openWebhook } from './secrets.ts';

/**
 * Sends an organisation's events to its webhooks, from the list of events to the log:
 *
 *   1 hand on   a delivery for each event after the cursor of a webhook     delivery-queries.ts
 *   2 send      a signed POST, until it is answered with 2xx                deliveries/sending.ts
 *   3 settle    how the webhook fares, and whether it is turned off
 *
 * The first is one statement: when it fails, or its process crashes, it wrote nothing, and the next
 * tick, here or elsewhere, does it.
 */
export function createWebhookSending(deps: WebhookSendingDependencies): Sending {
  const { sql, clock } = deps;
  const sending = createSending(eventKind(deps), deps);
  let closed = false;

  const hurry = async (): Promise<void> => {
    for (let isMore = true; isMore && !closed; ) {
      isMore = await handOn(sql, clock.now());
      await sending.hurry();
    }
  };

  return {
    hurry,
    look: async () => {
      if (await isAnyOn(sql)) await hurry();
    },
    tick: async () => {
      await hurry();
      await sending.tick();
    },
    close: () => {
      closed = true;
      return sending.close();
    },
  };
}

type DueEvent = {
  readonly webhook_id: string;
  readonly secrets: Uint8Array;
  readonly event_id: string;
  /** Null: it is not kept any more, such as one of 90 days ago that was sent again. */
  readonly event: (Omit<EventRow, 'at'> & { readonly at: string }) | null;
};

function eventKind(deps: WebhookSendingDependencies): Kind<DueEvent> {
  const { clock, secrets, send } = deps;

  const attempt = async (due: DueEvent): Promise<Answered> => {
    const { webhook_id, secrets: sealed, event_id, event } = due;
    if (event === null)
      return { verdict: { is: 'cancelled' }, status: null, class: null, answer: null };
    const { url, secrets: all } = await openWebhook(secrets, deps.sql, webhook_id, sealed);
    const now = clock.now();
    return attempted(
      await send(
        signedPost({
          url,
          secrets: validSecrets(all, now).map(({ secret }) => secret),
          id: event_id,
          now,
          content: webhookContent(eventJson({ ...event, at: Date.parse(event.at) })),
        }),
      ),
    );
  };

  return {
    name: 'event',
    claimMs,
    shares,
    pauses: eventPauses,
    keepsAll: false,
    // Each webhook is as likely as any other.
    receivers: (sql) => sql`
      select id, id::text as host, organisation_id as organisation,
        failing_since is not null as is_failing, random() as turn from webhooks where enabled`,
    columns: (sql) => sql`
      d.webhook_id, w.secrets, d.event_id, case when e.id is not null then (
        select row_to_json(shown) from (select ${eventColumns(sql)}) shown) end as event`,
    tables: (sql) => sql`
      join webhooks w on w.id = d.webhook_id
      left join events e on e.organisation_id = w.organisation_id and e.id = d.event_key`,
    attempt,
    settle: async (transaction, outcomes, write) => {
      const byWebhook = Map.groupBy(outcomes, ({ subject }) => subject);
      const webhooks = await healthOf(transaction, [...byWebhook.keys()]);
      await write();
      const after = webhooks.map((row) => healthAfter(row, byWebhook.get(row.id) ?? []));
      await writeHealth(transaction, after);
      await turnedOff(deps, transaction, after);
    },
  };
}

type Health = HealthRow & {
  readonly delivered_at: number | null;
  readonly off: 'gone' | 'failing' | null;
};

function healthAfter(before: HealthRow, outcomes: readonly Outcome[]): Health {
  let health: WebhookHealth = before;
  let off: Health['off'] = null;
  let delivered_at: number | null = null;
  for (const { verdict, at } of outcomes) {
    if (verdict === 'cancelled') continue;
    const after = afterAttempt(health, verdict, at);
    health = after.health;
    off ??= after.off;
    if (verdict === 'delivered') delivered_at = at;
  }
  return { ...before, ...health, off, delivered_at };
}

/** What waits for webhooks that are turned off is not sent, and their owners are mailed. */
async function turnedOff(
  { log, hasMail, clock }: Pick<WebhookSendingDependencies, 'log' | 'hasMail' | 'clock'>,
  transaction: Transaction,
  webhooks: readonly Health[],
): Promise<void> {
  const off = webhooks.flatMap(({ off: because, ...webhook }) =>
    because === null ? [] : [{ ...webhook, because }],
  );
  if (off.length === 0) return;
  const at = clock.now();
  for (const { id, because } of off) log.warn({ webhook: id, because }, 'turned off a webhook');
  await cancelWaiting(
    transaction,
    'event',
    off.map(({ id }) => id),
    at,
  );
  if (!hasMail) return;
  const owners = await ownersOf(
    transaction,
    off.map(({ organisation_id }) => organisation_id),
  );
  await postMails(
    transaction,
    off.flatMap(({ id: webhook, organisation_id, description, host, because }) =>
      (owners.get(organisation_id) ?? []).map((recipient) => ({
        kind: 'webhook-off' as const,
        recipient,
        about: { webhook, name: description === '' ? host : description, because },
        at,
      })),
    ),
  );
}

/** What is due is sent within this time, besides being sent at once when there is room. */
export const webhooksEveryMs = 1_000;

/** Longer than an attempt. */
const claimMs = 30_000;

/** A webhook has no more at once than it has itself, whatever its host. */
const shares = { all: 256, subject: 4, host: 4, organisation: 32, failing: 32 } as const;

type WebhookSendingDependencies = SendingDependencies & {
  readonly secrets: SecretsAtRest;
  /** Ends within less than the time of a claim. */
  readonly send: Sender['send'];
  /** Whether owners can be mailed. */
  readonly hasMail: boolean;
};
