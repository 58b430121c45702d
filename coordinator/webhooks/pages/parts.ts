import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type {
  createWebhook,
  getWebhook,
  listWebhookDeliveries,
} from '../../../shared/api/webhooks.ts';
import { stateMark } from '../../web/elements.ts';
import type { Html } from '../../web/html.ts';

/** A webhook and its log in words. */

export type Webhook = OutputOf<typeof getWebhook>;
export type Delivery = OutputOf<typeof listWebhookDeliveries>['items'][number];
export type WebhookInput = InputOf<typeof createWebhook>;

export const webhookTrail = [
  { href: '/tokens', name: 'API & assistants' },
  { href: '/webhooks', name: 'Webhooks' },
] as const;

/** Its description, or the host that it sends to. */
export function webhookName({ description, url }: Pick<Webhook, 'description' | 'url'>): string {
  return description === '' ? new URL(url).host : description;
}

export function webhookMark({
  enabled,
  disabled_because,
  failing_since,
  last_delivered_at,
}: Webhook): Html {
  if (!enabled)
    return disabled_because === null
      ? stateMark('paused', 'Off')
      : stateMark('paused', 'Turned off');
  if (failing_since !== null) return stateMark('down', 'Failing');
  return last_delivered_at === null
    ? stateMark('pending', 'Not used yet')
    : stateMark('up', 'Delivering');
}

/** `Ticket system is failing` */
export function webhookSentence(webhook: Webhook): string {
  const { enabled, failing_since, last_delivered_at } = webhook;
  const name = webhookName(webhook);
  if (!enabled) return `${name} is off`;
  if (failing_since !== null) return `${name} is failing`;
  return last_delivered_at === null ? `${name} is not used yet` : `${name} receives events`;
}

export function eventsText({ event_types }: Pick<Webhook, 'event_types'>): string {
  return event_types.length === 0
    ? 'All events'
    : event_types.length === 1
      ? (event_types[0] ?? '')
      : `${event_types.length} types`;
}

export function deliveryMark({ state }: Pick<Delivery, 'state'>): Html {
  if (state === 'waiting') return stateMark('pending', 'Waiting');
  if (state === 'delivered') return stateMark('up', 'Delivered');
  return state === 'failed' ? stateMark('down', 'Failed') : stateMark('unknown', 'Cancelled');
}

/** `HTTP 503`; without an answer the reason: `timeout`. */
export function answerText({ status, failure }: Pick<Delivery, 'status' | 'failure'>): string {
  return status === null ? (failure ?? '–').replaceAll('_', ' ') : `HTTP ${status}`;
}
