import { describe, expect, test } from 'vitest';
import { httpsChecker } from '../../support/checkers.ts';
import { serve } from '../../support/observations.ts';

/** What monitors share is judged by this (rule 48). */
describe('a check that passes tells by what it was served', () => {
  const hour = 3_600_000;
  const noon = Date.parse('2026-11-20T12:00:00Z');
  const answer = (server: string, location?: string) =>
    ({
      is: 'status',
      status: location === undefined ? 200 : 302,
      headers: { server, ...(location !== undefined && { location }) },
    }) as const;

  test('with all hosts on the way, once, and again when it changed, at most once an hour', async () => {
    const check = httpsChecker();
    const [first, last] = [await serve(), await serve({ host: '127.0.0.2' })];
    first.answer(answer('front', last.url('/there')));
    last.answer(answer('edge'));
    // Its day does not begin within these hours.
    const monitor = '00000000-0000-7000-8000-000000000001';
    const servedAt = async (started_at: number) =>
      (await check(first.url(), {}, { monitor, started_at })).served;
    expect(await servedAt(noon)).toEqual({
      addresses: [`127.0.0.1:${first.port}`, `127.0.0.2:${last.port}`],
      server: 'edge',
      redirect: `127.0.0.2:${last.port}`,
    });
    expect(await servedAt(noon + 2 * hour)).toBeUndefined();
    first.answer(answer('front'));
    expect(await servedAt(noon + hour / 2)).toBeUndefined();
    expect(await servedAt(noon + 2 * hour)).toMatchObject({ server: 'front', redirect: null });
  });

  test('without a secret of its monitor', async () => {
    const target = await serve();
    target.answer(answer('Bearer s3cret-s3cret'));
    const config = { headers: { authorization: 'Bearer s3cret-s3cret' } };
    const { served } = await httpsChecker()(target.url(), config);
    expect(served).toMatchObject({ server: '***' });
  });

  test('and one that fails tells nothing', async () => {
    const target = await serve();
    target.answer({ is: 'status', status: 503, headers: { server: 'edge' } });
    expect((await httpsChecker()(target.url())).served).toBeUndefined();
  });
});
