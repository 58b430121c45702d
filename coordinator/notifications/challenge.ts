import { randomBytes } from 'node:crypto';
import { judgeFailure } from './kinds/types.ts';
import { signedPost } from './kinds/webhook.ts';
import type { Sender } from './transport.ts';

/**
 * Asks an address whether it wants what is to be sent there: it gets a signed POST, and must answer
 * 2xx with the text of `data.challenge`. @returns undefined when it did; else what it did, in words.
 */
export async function challenge(
  send: Sender['send'],
  {
    now,
    type,
    data = {},
    ...to
  }: {
    readonly url: string;
    readonly secrets: readonly string[];
    readonly id: string;
    readonly now: number;
    readonly type: string;
    readonly data?: Readonly<Record<string, unknown>>;
  },
): Promise<string | undefined> {
  const text = randomBytes(32).toString('base64url');
  const timestamp = new Date(now).toISOString();
  const content = { type, timestamp, data: { challenge: text, ...data } };
  const answer = await send(signedPost({ ...to, now, content }));
  if (answer.is !== 'answer')
    return judgeFailure(answer.is === 'failure' ? answer.failure : 'broken_off').words;
  const { status, body } = answer;
  if (status < 200 || status >= 300) return `it answered HTTP ${status}`;
  return body.trim() === text ? undefined : `it answered HTTP ${status} with another text`;
}
