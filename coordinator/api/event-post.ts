import { exampleIds } from '../../shared/api/operation.ts';
import { WebhookEventOut } from '../../shared/api/webhooks.ts';
import { copyable } from './document-words.ts';

/** What a webhook is sent, as the document has it: the one call that the service makes to others. */
export const eventPost = {
  operationId: 'receiveEvent',
  tags: ['Webhooks'],
  summary: 'Receive an event',
  description:
    'What the service sends to a webhook, as Standard Webhooks 1.0 has it. Verify the signature over the body as it came, byte for byte, and refuse a timestamp that is more than five minutes off.',
  security: [],
  parameters: [
    sentHeader('webhook-id', 'The id of the event, the same at each attempt.', exampleIds.post),
    sentHeader(
      'webhook-timestamp',
      'When this attempt began, in seconds since 1970.',
      '1763438617',
    ),
    sentHeader(
      'webhook-signature',
      'One or more `v1,` signatures with blanks between: HMAC-SHA256 of `id.timestamp.body` under the secret (base64 after `whsec_`), in base64. One that is right suffices.',
      'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
    ),
  ],
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: WebhookEventOut.schema,
        example: WebhookEventOut.documented.example,
      },
    },
  },
  responses: {
    204: { description: 'Any 2xx within 15 seconds: delivered.' },
    410: { description: 'The webhook is turned off. Every other answer: it is sent again later.' },
  },
};

function sentHeader(name: string, description: string, example: string) {
  return { name, in: 'header', required: true, description, schema: { type: 'string' }, example };
}

const inNode = `import { createHmac, timingSafeEqual } from 'node:crypto';

export function isFromAntipode(secret, headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': given } = headers;
  if (!(Math.abs(Date.now() / 1000 - Number(at)) < 300)) return false;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const right = Buffer.from(\`v1,\${createHmac('sha256', key).update(\`\${id}.\${at}.\${body}\`).digest('base64')}\`);
  const isRight = (one) => one.length === right.length && timingSafeEqual(one, right);
  return given.split(' ').some((one) => isRight(Buffer.from(one)));
}`;

const inPython = `import base64, hashlib, hmac, time

def is_from_antipode(secret, headers, body):
    id, at, given = (headers[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    if not abs(time.time() - int(at)) < 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, f"{id}.{at}.".encode() + body, hashlib.sha256)
    right = "v1," + base64.b64encode(mac.digest()).decode()
    return any(hmac.compare_digest(one, right) for one in given.split(" "))`;

/** A chapter of the page, for whoever writes the program behind a webhook. */
export function webhooksChapter(): string {
  return `<h2 id="webhooks">Receive webhooks</h2>
<p>A webhook gets each event as a POST: the body is <a href="#WebhookEventOut">WebhookEventOut</a>, and three headers sign it as Standard Webhooks has it. Verify before you believe: take the body as it came, byte for byte. An event may come twice (its <code>webhook-id</code> is the same) and out of order (its <code>timestamp</code> tells).</p>
${copyable('Verify in Node', inNode)}${copyable('Verify in Python', inPython)}`;
}
