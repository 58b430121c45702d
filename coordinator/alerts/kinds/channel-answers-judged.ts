import type { Answer, SendFailure, Verdict } from './channel-kind.ts';

/** What HTTP answers mean to every kind alike, and the words for each. */
export type HttpAnswer = Extract<Answer, { is: 'answer' }>;

const failures: Readonly<Record<SendFailure, string>> = {
  dns_failed: 'its name leads to no address',
  blocked_address: 'its address lies inside a network to which this installation does not send (ALERT_ALLOW_CIDRS)',
  connect_failed: 'no connection to it stands',
  tls_invalid: 'its certificate is not valid',
  timeout: 'it gave no whole answer within 10 s',
  broken_off: 'it broke off its answer',
  bad_address: 'its address cannot be read',
  mail_not_set_up: 'mail is not set up on this installation (SMTP_URL)',
  push_not_set_up: 'push is not set up on this installation',
};

/** What no other try will change; all else may pass. */
const forGood: readonly SendFailure[] = ['bad_address', 'mail_not_set_up', 'push_not_set_up'];

export const judgeFailure = (failure: SendFailure): Verdict => ({
  is: forGood.includes(failure) ? 'refused' : 'retry',
  words: failures[failure],
});

const longestPause = 24 * 3_600;

/** `Retry-After`: seconds, or an instant by the receiver's own clock; undefined when it says nothing that can be read. */
export const retryAfter = ({ headers }: HttpAnswer): number | undefined => {
  const text = headers['retry-after']?.trim() ?? '';
  const isSeconds = /^\d{1,9}(\.\d+)?$/.test(text);
  const instantOf = (date: string): number => (/^[A-Z][a-z]{2}, .* GMT$/.test(date) ? Date.parse(date) : Number.NaN);
  const after = isSeconds ? Number(text) : (instantOf(text) - instantOf(headers.date ?? '')) / 1_000;
  return Number.isFinite(after) ? Math.min(longestPause, Math.max(0, Math.ceil(after))) : undefined;
};

export const later = (words: string, after_s?: number): Verdict =>
  after_s === undefined ? { is: 'retry', words } : { is: 'retry', words, after_s };

/** A member of a JSON object, or undefined wherever the text is something else. */
export const member = (body: string, ...path: readonly string[]): unknown => {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined; // What is no JSON has no members; its status speaks for itself.
  }
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Object.getOwnPropertyDescriptor(value, name)?.value;
  }
  return value;
};

/** A name is kept as it came, so only what can be one: a receiver could say anything, also what no database takes. */
const asName = /^[\x21-\x7e]{1,255}$/;

export const taken = (reference?: unknown): Verdict => {
  const name = typeof reference === 'number' ? String(reference) : reference;
  return typeof name === 'string' && asName.test(name) ? { is: 'taken', reference: name } : { is: 'taken' };
};

const statusWords = (status: number): string => {
  if (status === 429) return 'it wants less at once (429)';
  if (status >= 500) return `it has a fault of its own (${status})`;
  if (status >= 300 && status < 400) return `it points to another address (${status}); no redirect is followed: give the final address`;
  return `it answered ${status}`;
};

export type HttpJudging = {
  /** Statuses that the vendor documents as final, with what they mean. */
  readonly refused: { readonly [status: number]: string };
  /** What the vendor calls the message. */
  readonly reference?: (answer: HttpAnswer) => unknown;
  /** What the vendor says in the body before its status counts. */
  readonly first?: (answer: HttpAnswer) => Verdict | undefined;
  /** When the vendor wants to hear of it again, where it says so in the body. */
  readonly after_s?: (answer: HttpAnswer) => unknown;
};

/** Taken is 2xx, refused what the vendor documents as final; everything else may pass and is tried again. */
export const judgeHttp =
  ({ refused, reference, first, after_s }: HttpJudging) =>
  (answer: Answer): Verdict => {
    if (answer.is === 'failure') return judgeFailure(answer.failure);
    if (answer.is === 'mail') return { is: 'refused', words: 'it was sent by mail' };
    const said = first?.(answer);
    if (said !== undefined) return said;
    const { status } = answer;
    if (status >= 200 && status < 300) return taken(reference?.(answer));
    const words = refused[status];
    if (words !== undefined) return { is: 'refused', words: `${words} (${status})` };
    const inBody = after_s?.(answer);
    return later(
      statusWords(status),
      typeof inBody === 'number' && Number.isFinite(inBody) ? Math.min(longestPause, Math.max(0, Math.ceil(inBody))) : retryAfter(answer),
    );
  };
