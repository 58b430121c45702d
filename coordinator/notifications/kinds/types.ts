import { retryAfter_s } from '../../../shared/base/time.ts';
import type { Verdict } from '../../deliveries/model.ts';
import type { Notification } from '../message.ts';

/**
 * What a kind of channel is. The form, masking, documents and the operator's command follow from
 * its row, so a kind is one file and one line in `index.ts` beside it. All of it is pure: a
 * message from a notification, a verdict from an answer.
 */

/** A field that a person fills in. */
export type Field = {
  readonly label: string;
  /** Where to find the value, in a sentence. */
  readonly hint?: string;
  /**
   * Stored encrypted, and never shown again. A secret address is shown as its host alone
   * (`maskedChannelConfig`).
   */
  readonly secret?: true;
  readonly optional?: true;
  /**
   * The pattern of the whole value, and the words for a value that does not match. Only the flag
   * `v` is set, as a form's `pattern` is read.
   */
  readonly pattern: RegExp;
  readonly fault: string;
  /**
   * `subscription`: no one types it; a browser supplies it (Web Push). `generated`: we create it,
   * and show it once.
   */
  readonly input:
    | 'text'
    | 'url'
    | 'email'
    | 'tel'
    | 'password'
    | 'choice'
    | 'subscription'
    | 'generated';
  /** Of a `choice`; the first is the default. */
  readonly choices?: readonly string[];
};
type Fields = { readonly [name: string]: Field };

/**
 * The values of the fields with their secrets in place, each a text as a form sends it. Empty
 * values are absent.
 */
export type ChannelConfig = { readonly [name: string]: string };

/** What to send, in one of the three transports. */
export type Outgoing = OutgoingRequest | OutgoingMail | OutgoingPush;
export type OutgoingRequest = {
  readonly by: 'https';
  readonly method: 'POST' | 'PUT';
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
  /**
   * Sent once after this was accepted, whatever the answer to it: it ends what would otherwise keep
   * ringing.
   */
  readonly afterwards?: OutgoingRequest;
};
export type OutgoingMail = {
  readonly by: 'mail';
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The part of the Message-ID before the @; the sender adds the host. */
  readonly id: string;
  /** The id of the mail that began the thread in this mailbox. */
  readonly in_reply_to: string | null;
  readonly headers: { readonly [name: string]: string };
};
export type OutgoingPush = {
  readonly by: 'push';
  readonly endpoint: string;
  /** The browser's public key and its secret, base64url. */
  readonly p256dh: string;
  readonly auth: string;
  readonly payload: string;
  /**
   * It replaces a message with the same topic that has not been shown yet. At most 32 base64url
   * characters.
   */
  readonly topic: string;
  readonly urgency: 'high' | 'normal';
  readonly ttl_s: number;
};

/**
 * Why there was no complete answer. Only the class is stored and shown: never an address, never
 * text of someone else's server.
 */
const sendFailures = [
  'dns_failed',
  'blocked_address',
  'connect_failed',
  'tls_invalid',
  'timeout',
  'broken_off',
  'bad_address',
  'mail_not_set_up',
  'push_not_set_up',
] as const;
export type SendFailure = (typeof sendFailures)[number];

export type SendOutcome =
  /**
   * Redirects count as answers; none is followed. Header names are in lower case. The body holds
   * what arrived in time, up to 64 KB: a message accepted with a status is accepted, even if the
   * answer broke off.
   */
  | {
      readonly is: 'answer';
      readonly status: number;
      readonly headers: { readonly [name: string]: string };
      readonly body: string;
    }
  /**
   * The code of a mail server (250 accepted); null when there was none. `definite`: it will never
   * accept this mail for this address.
   */
  | { readonly is: 'mail'; readonly code: number | null; readonly definite: boolean }
  | { readonly is: 'failure'; readonly failure: SendFailure };

/** Its icon, and whether it gets warnings, follow from it. */
export const families = ['mail', 'chat', 'webhook', 'pager', 'phone', 'browser'] as const;

export type ChannelKind = {
  readonly id: string;
  readonly name: string;
  /** What it does for whom, in a sentence, for the form. */
  readonly about: string;
  readonly family: (typeof families)[number];
  readonly fields: Fields;
  /**
   * The only hosts that its addresses may have; any host when absent. `*.` means any name below.
   */
  readonly hosts?: readonly string[];
  /** @param now The time of this attempt, in ms: signatures carry it. */
  readonly message: (notification: Notification, config: ChannelConfig, now: number) => Outgoing;
  readonly judge: (answer: SendOutcome) => Verdict;
  /**
   * Whether people read it, to whom what becomes due together is told together (rule 32). A program
   * gets one message for each event of each monitor, at once.
   */
  readonly gathers: boolean;
  /** How the receiver recognises a message that comes a second time. */
  readonly safe: 'key' | 'message_id' | 'none';
};

/** What HTTP answers mean for every kind, and the words for each. */
export type HttpAnswer = Extract<SendOutcome, { is: 'answer' }>;

const failures: Readonly<Record<SendFailure, string>> = {
  dns_failed: 'its host name does not resolve',
  blocked_address:
    'its address is private: the operator of this installation can allow it (ALERT_ALLOW_CIDRS)',
  connect_failed: 'could not connect',
  tls_invalid: 'its certificate is not valid',
  timeout: 'no complete response within 10 s',
  broken_off: 'it closed the connection before the response was complete',
  bad_address: 'its address is not valid',
  mail_not_set_up: 'mail is not set up on this installation (SMTP_URL)',
  push_not_set_up: 'push is not set up on this installation',
};

/** Failures that no retry will change; all others may be temporary. */
const forGood: readonly SendFailure[] = ['bad_address'];

/** What ends when the operator sets it up: then what waits for it is sent (rule 4). */
export const setUpFailures: readonly SendFailure[] = ['mail_not_set_up', 'push_not_set_up'];

export function judgeFailure(failure: SendFailure): Extract<Verdict, { readonly words: string }> {
  return {
    is: forGood.includes(failure) ? 'refused' : 'retry',
    words: failures[failure],
  };
}

const longestPause = 24 * 3_600;

/** When the receiver wants the next attempt. */
export function retryAfter({ headers }: HttpAnswer): number | undefined {
  const after = retryAfter_s(headers['retry-after'], headers.date);
  return after === undefined ? undefined : Math.min(longestPause, after);
}

export function later(words: string, after_s?: number): Verdict {
  return after_s === undefined ? { is: 'retry', words } : { is: 'retry', words, after_s };
}

/** A member of a JSON object; undefined when the text is anything else. */
export function member(body: string, ...path: readonly string[]): unknown {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined; // Text that is not JSON has no members; its status speaks for itself.
  }
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name))
      return undefined;
    value = Object.getOwnPropertyDescriptor(value, name)?.value;
  }
  return value;
}

/**
 * A name is stored as it came, so only text that can be a name is accepted: a receiver could send
 * anything, even what no database takes.
 */
const asName = /^[\x21-\x7e]{1,255}$/;

export function taken(reference?: unknown): Verdict {
  const name = typeof reference === 'number' ? String(reference) : reference;
  return typeof name === 'string' && asName.test(name)
    ? { is: 'delivered', reference: name }
    : { is: 'delivered' };
}

type HttpJudging = {
  /** Statuses that the vendor documents as final, with their meaning. */
  readonly refused: { readonly [status: number]: string };
  /** People run it themselves, behind a proxy of their own. */
  readonly selfHosted?: true;
  /** The vendor's name for the message. */
  readonly reference?: (answer: HttpAnswer) => unknown;
  /** A verdict from the body, which takes precedence over the status. */
  readonly first?: (answer: HttpAnswer) => Verdict | undefined;
  /** When the vendor wants the next attempt, where its body says so. */
  readonly after_s?: (answer: HttpAnswer) => unknown;
};

/** What a proxy answers while the server behind it is down. */
const saidByProxies = [403, 404];

/**
 * 2xx is accepted; statuses that the vendor documents as final are refused; everything else may be
 * temporary and is tried again.
 */
export function judgeHttp({ refused, selfHosted, reference, first, after_s }: HttpJudging) {
  return (answer: SendOutcome): Verdict => {
    if (answer.is === 'failure') return judgeFailure(answer.failure);
    if (answer.is === 'mail') return { is: 'refused', words: 'it was sent by mail' };
    const said = first?.(answer);
    if (said !== undefined) return said;
    const { status } = answer;
    if (status >= 200 && status < 300) return taken(reference?.(answer));
    const words = refused[status];
    if (words !== undefined) {
      const doubted = selfHosted === true && saidByProxies.includes(status);
      return { is: 'refused', words: `${words} (${status})`, ...(doubted ? { doubted } : {}) };
    }
    const inBody = after_s?.(answer);
    return later(
      statusWords(status),
      typeof inBody === 'number' && Number.isFinite(inBody)
        ? Math.min(longestPause, Math.max(0, Math.ceil(inBody)))
        : retryAfter(answer),
    );
  };
}

function statusWords(status: number): string {
  if (status === 429) return 'it is rate limiting (429)';
  if (status >= 500) return `it returned a server error (${status})`;
  if (status >= 300 && status < 400)
    return `it redirects (${status}), and redirects are not followed: give the final address`;
  return `it responded with ${status}`;
}

/**
 * A required value. @throws when it is missing: a config is checked against its fields before it is
 * stored.
 */
export function value(config: ChannelConfig, name: string): string {
  const found = config[name];
  if (found === undefined) throw new Error(`the config of a channel has no ${name}`);
  return found;
}

/** To append a path. */
export function withoutTrailingSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

const anyUrl = /^https?:\/\/[^\s\/?#@\\]+(?:[\/?#]\S*)?$/v;

export function urlField(label: string, hint: string): Field {
  return {
    label,
    hint,
    input: 'url',
    pattern: anyUrl,
    fault: 'must be an https:// or http:// address without a user name and password',
  };
}

/** An address that is itself a secret: anyone who knows it can post there. */
export function secretUrlField(
  label: string,
  hint: string,
  pattern: RegExp = anyUrl,
  fault?: string,
): Field {
  return {
    ...urlField(label, hint),
    pattern,
    ...(fault === undefined ? {} : { fault }),
    secret: true,
  };
}

export function secretField(
  label: string,
  hint: string,
  pattern: RegExp = /^[\x21-\x7e]{1,500}$/v,
  fault?: string,
): Field {
  return {
    label,
    hint,
    input: 'password',
    secret: true,
    pattern,
    fault: fault ?? 'must have up to 500 visible characters and no spaces',
  };
}

export function textField(label: string, hint: string, pattern: RegExp, fault: string): Field {
  return {
    label,
    hint,
    input: 'text',
    pattern,
    fault,
  };
}

export function choiceField(label: string, hint: string, choices: readonly string[]): Field {
  return {
    label,
    hint,
    input: 'choice',
    choices,
    optional: true,
    pattern: new RegExp(`^(?:${choices.join('|')})$`, 'v'),
    fault: `must be one of ${choices.join(', ')}`,
  };
}

export function jsonPost(
  url: string,
  content: unknown,
  headers: { readonly [name: string]: string } = {},
): {
  readonly by: 'https';
  readonly method: 'POST';
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
} {
  return {
    by: 'https',
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(content),
  };
}

export function formPost(
  url: string,
  content: { readonly [name: string]: string },
  headers: { readonly [name: string]: string } = {},
): ReturnType<typeof jsonPost> {
  return {
    by: 'https',
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(content).toString(),
  };
}

export function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}
