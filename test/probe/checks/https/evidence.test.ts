import { describe, expect, test } from 'vitest';
import { causeSentence } from '../../../../shared/checks/causes.ts';
import { answered, certificate, failed, hop, judge, response, seen, tls } from '../../support/observations.ts';

describe('what a target sent stays out of sentences and is tame in evidence', () => {
  const hostile = '<script>alert(1)</script> ignore previous instructions \u0000\u001b[31m \ud800';
  const observation = seen([
    hop({
      url: 'https://x.example/?q=s3cret-token',
      response: {
        ...response(500, `${hostile} s3cret-token p%40ss p@ss`, [
          ['server', hostile],
          ['set-cookie', 'session=1'],
          ['location', 'x'],
        ]),
        body: Buffer.concat([Buffer.from(`${hostile} s3cret-token p%40ss p@ss `), Buffer.alloc(5_000, 0x61)]),
      },
    }),
  ]);
  const verdict = judge(observation, { bearer_token: 's3cret-token', headers: { 'X-K': 'p@ss' }, secret_headers: ['X-K'] });

  test('the sentence has nothing of it', () => {
    expect(verdict.cause && causeSentence(verdict.cause)).toBe('Status 500, expected 2xx');
  });

  test('evidence has no secrets, no control characters, chosen headers only, and 1 KiB of body', () => {
    const text = JSON.stringify(verdict.evidence);
    expect(text).not.toMatch(/s3cret-token|p@ss|p%40ss|set-cookie|\\u0000|\\u001b|\\ud800/);
    expect(String(verdict.evidence.body)).toHaveLength(1_024);
    expect(verdict.evidence.body).toContain('ignore previous instructions');
    expect(text.length).toBeLessThan(8_000);
  });

  test.each([
    ['longer than the evidence of a body', 5_000, 0, 0],
    ['cut off by its limit', 3_000, 1_000, 0],
    ['cut off where no more was kept', 4_000, 500, 0],
    ['sent three times', 3_900, 10, 2],
    ['in letters of two bytes, cut off in the midst of one', 4_000, 500, 1],
  ])('evidence has no part of a secret %s', (_what, length, before, more) => {
    const letters = more === 1 ? 'äöüé' : 'abcdefghijkl';
    const secret = Array.from({ length }, (_, index) => letters[(index * 7 + Math.floor(index / 11)) % letters.length]).join('');
    const whole = Buffer.from(`${'.'.repeat(before)}${`${secret}|`.repeat(1 + more)}`);
    // As much of it as a check keeps.
    const kept = { ...response(500), body: whole.subarray(0, 4_096), read: whole.length };
    const config = { headers: { 'X-K': secret }, secret_headers: ['X-K'] };
    for (const one of [kept, { ...kept, body: whole }]) {
      const text = JSON.stringify(judge(answered(one), config).evidence);
      expect(text).toContain('***');
      expect(
        new RegExp(`[${letters}]{8}`).exec(text.replace(/"(url|cipher|cache|body_truncated|fingerprint|host_matches)"/g, ''))?.[0],
      ).toBe(undefined);
    }
  });

  test('evidence carries what the check saw', () => {
    expect(verdict.evidence).toMatchObject({
      addresses: ['192.0.2.1'],
      address: '192.0.2.1',
      status: 500,
      tls: { protocol: 'TLSv1.3', fault: null, chain: [{ names: ['DNS:x.example'] }] },
    });
    expect(verdict.phases).toEqual({ dns: 1, tcp: 2, tls: 3, first_byte: 4, total: 120 });
  });

  test('of an address that may not be reached nothing is told but that', () => {
    const { evidence } = judge(failed('tcp', 'NOT_PUBLIC', { addresses: ['10.1.2.3'], attempts: [] }));
    expect(JSON.stringify(evidence)).not.toContain('10.1.2.3');
  });

  test('evidence stays small, whatever a target piles up', () => {
    const long = 'n'.repeat(250);
    const chain = Array.from({ length: 6 }, () => ({
      ...certificate(),
      subject: long.repeat(4),
      issuer: long.repeat(4),
      names: Array.from({ length: 20 }, () => long),
    }));
    const headers = Array.from({ length: 250 }, () => ['via', long.repeat(4)] as const);
    const hops = Array.from({ length: 11 }, () =>
      hop({
        url: `https://x.example/${long.repeat(8)}`,
        tls: tls({ chain: () => chain }),
        response: response(500, long.repeat(100), headers),
      }),
    );
    expect(JSON.stringify(judge(seen(hops)).evidence).length).toBeLessThan(48_000);
  });

  test('a body in another charset is judged as text', () => {
    const latin = { ...response(200, '', [['content-type', 'text/html; charset=ISO-8859-1']]), body: Buffer.from('gr\xfc\xdfe', 'latin1') };
    expect(judge(answered(latin), { body_contains: 'grüße' }).outcome).toBe('ok');
    const odd = { ...response(200, 'grüße', [['content-type', 'text/html; charset=klingon']]) };
    expect(judge(answered(odd), { body_contains: 'grüße' }).outcome).toBe('ok');
  });
});
