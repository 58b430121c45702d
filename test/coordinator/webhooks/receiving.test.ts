import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { pageText } from '../../../coordinator/documentation/page-files.ts';
import { newSigningSecret, signedPost } from '../../../coordinator/notifications/kinds/webhook.ts';

/** The code that the documentation gives to receivers. */

const url = 'https://antipode.example.org';
/** The code of a language on the page about webhooks. */
const codeOf = (language: string): string =>
  new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(pageText('webhooks'))?.[1] ?? '';

const receiver = z.object({
  isFromAntipode: z.custom<
    (secret: string, headers: Readonly<Record<string, string>>, body: string) => boolean
  >((value) => typeof value === 'function'),
});

test('believes what a webhook is sent, by the new secret and by the one before, and nothing else', async () => {
  const code = codeOf('js');
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

const python = spawnSync('python3', ['--version']).status === 0;

test.runIf(python)('believes the same in Python', () => {
  const secret = newSigningSecret();
  const { headers, body } = signedPost({
    url,
    secrets: [secret],
    id: '019aa1f2-1c07-7a93-8e46-5b9d0f2c7a18',
    now: Date.now(),
    content: { type: 'deploy', data: { name: 'Café' } },
  });
  const program = `${codeOf('python')}
import json, sys
secret, headers, body = json.load(sys.stdin)
print([is_from_antipode(secret, headers, each.encode()) for each in (body, body + " ")])`;
  const { stdout, stderr } = spawnSync('python3', ['-c', program], {
    encoding: 'utf8',
    input: JSON.stringify([secret, headers, body]),
  });
  expect([stdout, stderr]).toEqual(['[True, False]\n', '']);
});
