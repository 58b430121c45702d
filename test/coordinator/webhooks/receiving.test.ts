import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { docsPage } from '../../../coordinator/api/docs.ts';
import { apiDocument } from '../../../coordinator/api/openapi.ts';
import { newSigningSecret, signedPost } from '../../../coordinator/notifications/kinds/webhook.ts';
import { projectFolder } from '../../../deploy/node/places.mjs';

/** The code that the documents give to receivers. */

const url = 'https://antipode.example.org';
const text = docsPage(apiDocument(url), url)
  .replaceAll('&quot;', '"')
  .replaceAll('&#39;', "'")
  .replaceAll('&lt;', '<')
  .replaceAll('&gt;', '>')
  .replaceAll('&amp;', '&');
const codeOf = (name: string): string =>
  new RegExp(`Verify in ${name}</h3><pre[^>]*><code>([\\s\\S]*?)</code>`).exec(text)?.[1] ?? '';

const receiver = z.object({
  isFromAntipode: z.custom<
    (secret: string, headers: Readonly<Record<string, string>>, body: string) => boolean
  >((value) => typeof value === 'function'),
});

test('believes what a webhook is sent, by the new secret and by the one before, and nothing else', async () => {
  const code = codeOf('Node');
  const { isFromAntipode } = receiver.parse(
    await import(`data:text/javascript,${encodeURIComponent(code)}`),
  );
  const [secret, before, other] = [newSigningSecret(), newSigningSecret(), newSigningSecret()];
  const post = (now: number) =>
    signedPost({
      url,
      secrets: [secret, before],
      id: '019aa1f2-1c07-7a93-8e46-5b9d0f2c7a18',
      now,
      content: { type: 'deploy', data: { name: 'Café' } },
    });
  const { headers, body } = post(Date.now());
  const is = [secret, before, other].map((each) => isFromAntipode(each, headers, body));
  expect(is).toEqual([true, true, false]);
  expect(isFromAntipode(secret, headers, body.replace('Café', 'Cafe'))).toBe(false);
  expect(isFromAntipode(secret, { ...headers, 'webhook-id': 'another' }, body)).toBe(false);
  const old = post(Date.now() - 600_000);
  expect(isFromAntipode(secret, old.headers, old.body)).toBe(false);
});

test('is the same in the documentation', () => {
  const page = readFileSync(join(projectFolder, 'docs/webhooks.md'), 'utf8');
  for (const name of ['Node', 'Python']) {
    expect(codeOf(name).length).toBeGreaterThan(300);
    expect(page).toContain(codeOf(name));
  }
});
