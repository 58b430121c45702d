import type { listEvents } from '../../shared/api/events.ts';
import type { OutputOf } from '../../shared/api/operation.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { Answered, Pauses } from '../deliveries/model.ts';
import type { Outcome } from '../deliveries/sending.ts';
import {
  type HttpAnswer,
  later,
  retryAfter,
  type SendOutcome,
} from '../notifications/kinds/types.ts';

/** The rules of webhooks: what an address may be, when an attempt is repeated, when one is off. */

const longestUrl = 2_000;
const longestDescription = 200;

/** @throws Refusal `webhook_invalid`. Where it leads is judged at each connection. */
export function webhookUrlFrom(text: string): URL {
  const url = text.length > longestUrl ? null : URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol) || `${url.username}${url.password}` !== '')
    throw new Refusal('webhook_invalid', {
      url: `must be an https:// or http:// address of up to ${longestUrl} characters, without a user name and password.`,
    });
  url.hash = '';
  return url;
}

/** @throws Refusal `webhook_invalid`. */
export function webhookDescriptionFrom(text: string): string {
  const description = text.trim();
  if (description.length > longestDescription || /\p{Cc}/u.test(description))
    throw new Refusal('webhook_invalid', {
      description: `must be one line of up to ${longestDescription} characters.`,
    });
  return description;
}

/** What others than owners and admins see of the address, which may contain a secret. */
export function maskedUrl(url: string): string {
  return `${new URL(url).origin}/***`;
}

type Event = OutputOf<typeof listEvents>['items'][number];

/** The body of a POST: the event as the list of events has it. */
export function webhookContent(event: Event) {
  return {
    type: event.event,
    timestamp: event.at,
    data: event,
  };
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A secret that signs, and until when; null: it was not replaced. */
export type SigningSecret = { readonly secret: string; readonly until: number | null };

const overlapMs = day;
const maxSecrets = 3;

/** A new secret first. The one before signs for another day, so that receivers can change over. */
export function rotated(
  secrets: readonly SigningSecret[],
  secret: string,
  now: number,
): readonly SigningSecret[] {
  return [
    { secret, until: null },
    ...validSecrets(secrets, now).map((each) => ({
      ...each,
      until: each.until ?? now + overlapMs,
    })),
  ].slice(0, maxSecrets);
}

export function validSecrets(
  secrets: readonly SigningSecret[],
  now: number,
): readonly SigningSecret[] {
  return secrets.filter(({ until }) => until === null || until > now);
}

/** Those of Standard Webhooks: ten attempts within three days and a bit. */
const pauses = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];
export const eventPauses: Pauses = { afterMs: pauses, longestAskedMs: day, jitter: 0.1 };

/** What became of an attempt; its `class` is null when there was an answer. */
type Attempted = Answered & { readonly answer: string | null };

export function attempted(outcome: SendOutcome): Attempted {
  if (outcome.is !== 'answer') {
    const failure = outcome.is === 'failure' ? outcome.failure : 'broken_off';
    return { verdict: { is: 'retry', words: failure }, status: null, class: failure, answer: null };
  }
  const { status, body } = outcome;
  return { verdict: verdictOf(outcome), status, class: null, answer: beginningOf(body) };
}

function verdictOf(answer: HttpAnswer): Attempted['verdict'] {
  const { status } = answer;
  if (status >= 200 && status < 300) return { is: 'delivered' };
  return status === 410 ? { is: 'gone' } : later(`status ${status}`, retryAfter(answer));
}

const keptOfAnswer = 1_024;

/** What a database takes, whatever the receiver sent. */
function beginningOf(body: string): string {
  return Buffer.from(body).subarray(0, keptOfAnswer).toString().replaceAll('\0', '\ufffd');
}

export type WebhookHealth = {
  readonly failing_since: number | null;
  readonly last_failed_at: number | null;
};

export const healthy: WebhookHealth = { failing_since: null, last_failed_at: null };

/** Failures further apart are not one time of failing: nothing was sent in between. */
const longestSilence = 2 * day;
const offAfter = 5 * day;

/** How it fares after an attempt, and why it is turned off, if it is. */
export function afterAttempt(
  { failing_since, last_failed_at }: WebhookHealth,
  is: Outcome['verdict'],
  at: number,
): { readonly health: WebhookHealth; readonly off: 'gone' | 'failing' | null } {
  if (is === 'delivered') return { health: healthy, off: null };
  const isSame = last_failed_at !== null && at - last_failed_at <= longestSilence;
  const since = isSame ? (failing_since ?? at) : at;
  const health = { failing_since: since, last_failed_at: at };
  if (is === 'gone') return { health, off: 'gone' };
  return { health, off: at - since >= offAfter ? 'failing' : null };
}
