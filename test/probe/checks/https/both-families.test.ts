import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { Lookup } from '../../../../probe/checks/connection/lookup.ts';
import { judgeBoth } from '../../../../probe/checks/https/both-families.ts';
import { noPhases, type Verdict } from '../../../../shared/checks/result.ts';
import { deadlineIn, httpsChecker } from '../../support/checkers.ts';
import { serve } from '../../support/observations.ts';

const both = { ip_family: 'both' };
const check = httpsChecker({ families: { 4: true, 6: true } });

const isSix = (request: IncomingMessage): boolean =>
  request.socket.remoteAddress?.startsWith('::ffff:') === false;

/** A target that both families reach, and answers each as it wants. */
const dual = async (
  answer: (by: '4' | '6', response: ServerResponse, request: IncomingMessage) => void,
) => {
  const target = await serve({ host: '::' });
  target.answer({
    is: 'by',
    answer: (request, response) => answer(isSix(request) ? '6' : '4', response, request),
  });
  return { target, url: (path = '/') => `http://two.localhost:${target.port}${path}` };
};

describe('a target that must answer by both families', () => {
  test('passes when each of them does, and each is named in the evidence', async () => {
    const { target, url } = await dual((_, response) => response.end('ok'));
    expect(await check(url(), both)).toMatchObject({
      outcome: 'ok',
      cause: null,
      evidence: {
        families: [
          { family: 'IPv4', outcome: 'ok', cause: null, address: '127.0.0.1', status: 200 },
          { family: 'IPv6', outcome: 'ok', cause: null, address: '::1', status: 200 },
        ],
      },
    });
    expect(target.hits).toHaveLength(2);
  });

  test.each([
    ['127.0.0.1', 'Connection refused (IPv6)', ['ok', 'fail']],
    ['::1', 'Connection refused (IPv4)', ['fail', 'ok']],
  ])('fails when it listens at %s alone', async (host, sentence, outcomes) => {
    const target = await serve({ host });
    const checked = await check(`http://two.localhost:${target.port}/`, both);
    expect(checked).toMatchObject({ outcome: 'fail', sentence });
    expect(checked.evidence.families).toMatchObject(outcomes.map((outcome) => ({ outcome })));
  });

  test('fails without the name of a family when both fail alike', async () => {
    const target = await serve();
    await target.close();
    expect(await check(`http://two.localhost:${target.port}/`, both)).toMatchObject({
      outcome: 'fail',
      sentence: 'Connection refused',
    });
  });

  test('fails when one of them gets a wrong answer', async () => {
    const { url } = await dual((by, response) => {
      response.statusCode = by === '6' ? 503 : 200;
      response.end(by);
    });
    expect(await check(url(), both)).toMatchObject({
      outcome: 'fail',
      sentence: 'Status 503, expected 2xx (IPv6)',
      evidence: { status: 503, families: [{ status: 200 }, { status: 503 }] },
    });
  });

  test('fails when one of them is silent, which takes no time from the other', async () => {
    const { url } = await dual((by, response) => {
      if (by === '6') response.end('ok');
      else response.write('o'); // And no more.
    });
    const checked = await check(url(), both, { timeout_ms: 700 });
    expect(checked).toMatchObject({ outcome: 'fail', cause: { params: { by: 'IPv4' } } });
    expect(checked.evidence.families).toMatchObject([{ outcome: 'fail' }, { outcome: 'ok' }]);
  });

  test('is asked by both at the same time: each has the whole time limit', async () => {
    const waiting: ServerResponse[] = [];
    const { url } = await dual((_, response) => {
      // Only once both have asked, which one after the other would never come to be.
      waiting.push(response);
      if (waiting.length === 2) for (const each of waiting) each.end('ok');
    });
    expect(await check(url(), both)).toMatchObject({ outcome: 'ok' });
  });

  test('is followed over redirects by each family', async () => {
    const { target, url } = await dual((by, response, request) => {
      if (request.url === '/') response.writeHead(302, { location: `/${by}` }).end();
      else response.end(request.url);
    });
    expect(await check(url(), both)).toMatchObject({ outcome: 'ok' });
    expect(target.hits.map((hit) => hit.url).toSorted()).toEqual(['/', '/', '/4', '/6']);
  });

  test('ends at once when the probe does', async () => {
    const { url } = await dual(() => undefined);
    const deadline = deadlineIn(60_000);
    const checking = check(url(), both, { deadline });
    setImmediate(() => deadline.end());
    expect(await checking).toMatchObject({ outcome: 'fail' });
    expect(await check(url(), both, { deadline })).toMatchObject({ outcome: 'fail' });
  });
});

describe('a probe', () => {
  const addresses: Readonly<Record<string, string>> = { '4': '127.0.0.1', '6': '2001:db8::1' };
  const lookup: Lookup = async (_, family) => ({ addresses: [addresses[family] ?? ''] });
  const without = httpsChecker({
    families: { 4: true, 6: false },
    allow: ['127.0.0.0/8', '2001:db8::/32'],
    lookup,
  });

  test('that lacks a family says nothing of a target that passes by the other', async () => {
    const target = await serve();
    expect(await without(`http://two.example:${target.port}/`, both)).toMatchObject({
      outcome: 'unknown',
      sentence: 'The probe has no IPv6, and both families are to be checked',
      evidence: { families: [{ outcome: 'ok' }, { outcome: 'unknown' }] },
    });
  });

  test('that lacks a family sees a failure by the other', async () => {
    const target = await serve();
    await target.close();
    expect(await without(`http://two.example:${target.port}/`, both)).toMatchObject({
      outcome: 'fail',
      sentence: 'Connection refused (IPv4)',
    });
  });

  test('that lacks a family still knows that a name has none of it', async () => {
    const target = await serve();
    const onlyFour = httpsChecker({
      families: { 4: true, 6: false },
      lookup: async (_, family) =>
        family === '4' ? { addresses: ['127.0.0.1'] } : { code: 'ENODATA' },
    });
    expect(await onlyFour(`http://one.example:${target.port}/`, both)).toMatchObject({
      outcome: 'fail',
      sentence: 'The name has no IPv6 address',
    });
  });
});

test('of two passes the slower one counts, with the warnings of both, each once', () => {
  const seen = (family: '4' | '6', total: number, codes: readonly string[]) => {
    const verdict: Verdict = {
      outcome: 'ok',
      cause: null,
      phases: { ...noPhases, total },
      evidence: {},
      warnings: codes.map((code) => ({ code, details: { total } })),
    };
    return { family, verdict, hops: [] };
  };
  const judged = judgeBoth(
    [seen('4', 10, ['slow', 'certificate_expires']), seen('6', 20, ['slow'])],
    false,
  );
  expect(judged).toMatchObject({ outcome: 'ok', phases: { total: 20 }, evidence: {} });
  expect(judged.warnings?.toSorted((a, b) => (a.code < b.code ? -1 : 1))).toEqual([
    { code: 'certificate_expires', details: { total: 10 } },
    { code: 'slow', details: { total: 20 } },
  ]);
});
