import { exampleIds } from '../../shared/api/operation.ts';
import { WebhookEventOut } from '../../shared/api/webhooks.ts';

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
