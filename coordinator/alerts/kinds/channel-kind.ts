import type { Told } from '../alert-told.ts';

/**
 * What a kind of channel is. Form, masking, docs and the operator's command follow from its row, so that a kind is one file and one line in
 * `alert-channel-kinds.ts`. All of it is pure: a message from what is told, a verdict from what was answered.
 */

/** What somebody fills in. */
export type Field = {
  readonly label: string;
  /** Where to find it, in a sentence. */
  readonly hint?: string;
  /** Kept encrypted, never shown again. A secret address is shown as its host alone (`shownConfig`). */
  readonly secret?: true;
  readonly optional?: true;
  /** What a value is like in whole, and the words for one that is not. With the flag `v` alone, as the `pattern` of a form is read. */
  readonly pattern: RegExp;
  readonly fault: string;
  /** `subscription`: nobody types it; a browser gives it (Web Push). `generated`: we make it, and show it once. */
  readonly input: 'text' | 'url' | 'email' | 'tel' | 'password' | 'choice' | 'subscription' | 'generated';
  /** Of a `choice`; the first counts where nothing is chosen. */
  readonly choices?: readonly string[];
};
export type Fields = { readonly [name: string]: Field };

/** The values of the fields with their secrets in place, each a text as a form sends it; what was left empty is absent. */
export type ChannelConfig = { readonly [name: string]: string };

/** What is to be sent, by whichever of the three ways there are. */
export type Outgoing = OutgoingRequest | OutgoingMail | OutgoingPush;
export type OutgoingRequest = {
  readonly by: 'https';
  readonly method: 'POST' | 'PUT';
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
  /** What follows when this was taken, once, whatever is answered to it: it ends what would only go on ringing. */
  readonly afterwards?: OutgoingRequest;
};
export type OutgoingMail = {
  readonly by: 'mail';
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The part of the Message-ID before the @; the sender knows the host. */
  readonly id: string;
  /** The same of the mail that began the thread, in this mailbox. */
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
  /** What it replaces where it has not been shown yet; at most 32 letters of base64url. */
  readonly topic: string;
  readonly urgency: 'high' | 'normal';
  readonly ttl_s: number;
};

/** Why there was no whole answer. Only the class is stored and shown: never an address, never what a stranger's server said. */
export const sendFailures = [
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

export type Answer =
  /**
   * Redirects are answers, too: none is followed. Header names in lower case; of the body what came in time, up to 64 KB: what was taken with
   * a status is taken, although its answer broke off.
   */
  | {
      readonly is: 'answer';
      readonly status: number;
      readonly headers: { readonly [name: string]: string };
      readonly body: string;
    }
  /** What a mail server said: its code (250 taken); null when there was none. `definite`: it will never take this mail for this address. */
  | { readonly is: 'mail'; readonly code: number | null; readonly definite: boolean }
  | { readonly is: 'failure'; readonly failure: SendFailure };

/** What an answer means. `words`: a clause of our own, for the channel's page ("Slack does not know this webhook any more"). */
export type Verdict =
  /** `reference`: what the receiver calls the message, to answer it later. */
  | { readonly is: 'taken'; readonly reference?: string }
  /** `after_s`: the earliest that the receiver wants to hear of it again. */
  | { readonly is: 'retry'; readonly words: string; readonly after_s?: number }
  /** It will never be taken like this: somebody has to do something. */
  | { readonly is: 'refused'; readonly words: string };

export type ChannelKind = {
  readonly id: string;
  readonly name: string;
  /** What it does for whom, in a sentence, for the form. */
  readonly about: string;
  readonly fields: Fields;
  /** The only hosts that its addresses may have; without it any. `*.` stands for any name below. */
  readonly hosts?: readonly string[];
  /** @param now The time of this attempt, in ms: signatures carry it. */
  readonly message: (told: Told, config: ChannelConfig, now: number) => Outgoing;
  readonly judge: (answer: Answer) => Verdict;
  /**
   * Whether something stands open at the receiver until an "up" closes it (PagerDuty). A message to such a channel tells of one thread alone:
   * what goes together of several threads leaves as one message for each.
   */
  readonly resolves: boolean;
  /** By what the receiver knows a message that comes a second time. */
  readonly safe: 'key' | 'message_id' | 'none';
};
