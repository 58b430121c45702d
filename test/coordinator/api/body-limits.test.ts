import { expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import { restServer, token } from './server.ts';

test('a window may name as many monitors as 2 MiB hold, and says so beyond; other bodies end at 64 KiB', async () => {
  const { app } = await restServer();
  const send = async (url: string, body: unknown) => {
    const { statusCode, payload } = await app.inject({
      ...{ method: 'POST', url, payload: JSON.stringify(body) },
      headers: { authorization: token, 'content-type': 'application/json' },
    });
    return { statusCode, answer: JSON.parse(payload) };
  };
  const window = (monitors: number) => ({
    ...{ starts_at: '2099-01-01T02:00', ends_at: '2099-01-01T03:00' },
    monitors: Array.from({ length: monitors }, newId),
  });
  const many = await send('/api/v1/maintenance', window(12_000));
  expect([many.statusCode, many.answer.monitors.length]).toEqual([201, 12_000]);
  const tooLarge = await send('/api/v1/maintenance', window(60_000));
  expect([tooLarge.statusCode, tooLarge.answer]).toEqual([
    413,
    { error: { code: 'body_too_large', message: 'The body is larger than 2 MiB.' } },
  ]);
  const group = await send('/api/v1/groups', { name: 'x'.repeat(70_000) });
  expect([group.statusCode, group.answer]).toEqual([
    413,
    { error: { code: 'body_too_large', message: 'The body is larger than 64 KiB.' } },
  ]);
  await app.close();
});
