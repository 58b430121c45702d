import { describe, expect, test } from 'vitest';
import { nextAttempt } from '../../../coordinator/deliveries/model.ts';
import {
  afterAttempt,
  attempted,
  eventPauses,
  healthy,
  maskedUrl,
  rotated,
  type SigningSecret,
  validSecrets,
  webhookDescriptionFrom,
  webhookUrlFrom,
} from '../../../coordinator/webhooks/model.ts';
import { Refusal } from '../../../shared/base/errors.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const now = Date.UTC(2026, 10, 26, 6);

const codeOf = (work: () => unknown): string => {
  try {
    work();
    return 'taken';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
};

describe('the address of a webhook', () => {
  test('is one of https or http without a user; a fragment is left out, and others see its host', () => {
    const url = webhookUrlFrom(' https://hooks.example.com:8443/in?key=s3cret#top ');
    expect(url.href).toBe('https://hooks.example.com:8443/in?key=s3cret');
    expect(maskedUrl(url.href)).toBe('https://hooks.example.com:8443/***');
    expect(codeOf(() => webhookUrlFrom('http://hooks.example.com/'))).toBe('taken');
    for (const text of [
      '',
      'hooks.example.com',
      'ftp://hooks.example.com/',
      'javascript:alert(1)',
      'https://user:pass@hooks.example.com/',
      'https://user@hooks.example.com/',
      `https://hooks.example.com/${'x'.repeat(2_000)}`,
    ])
      expect(
        codeOf(() => webhookUrlFrom(text)),
        text.slice(0, 60),
      ).toBe('webhook_invalid');
  });

  test('has a description of one line', () => {
    expect(webhookDescriptionFrom(' Tickets ')).toBe('Tickets');
    for (const text of ['x'.repeat(201), 'a\nb', 'a\0b'])
      expect(codeOf(() => webhookDescriptionFrom(text))).toBe('webhook_invalid');
  });
});

describe('a secret that is replaced', () => {
  const first: SigningSecret = { secret: 'one', until: null };
  const names = (secrets: readonly SigningSecret[]) => secrets.map(({ secret }) => secret);

  test('signs for another day beside the new one', () => {
    const secrets = rotated([first], 'two', now);
    expect(secrets).toEqual([
      { secret: 'two', until: null },
      { secret: 'one', until: now + day },
    ]);
    expect(names(validSecrets(secrets, now + day - 1))).toEqual(['two', 'one']);
    expect(names(validSecrets(secrets, now + day))).toEqual(['two']);
  });

  test('is forgotten in time: a second replacement does not lengthen the first, and three are the most', () => {
    const twice = rotated(rotated([first], 'two', now), 'three', now + hour);
    expect(twice.map(({ until }) => until)).toEqual([null, now + hour + day, now + day]);
    expect(names(rotated(twice, 'four', now + 2 * hour))).toEqual(['four', 'three', 'two']);
    expect(names(rotated(twice, 'four', now + 3 * day))).toEqual(['four', 'three']);
  });
});

describe('an attempt', () => {
  const answer = (status: number, headers = {}, body = '') =>
    attempted({ is: 'answer', status, headers, body });
  const again = (attempts: number, { verdict }: ReturnType<typeof answer>, chance = 0) =>
    nextAttempt(
      eventPauses,
      { attempts, after_s: 'after_s' in verdict ? verdict.after_s : undefined },
      now,
      chance,
    );

  test('is delivered by 2xx alone; 410 ends all, and everything else is tried again', () => {
    const results = [200, 204, 299, 301, 404, 410, 429, 500].map(
      (status) => answer(status).verdict.is,
    );
    expect(results).toEqual([
      'delivered',
      'delivered',
      'delivered',
      'retry',
      'retry',
      'gone',
      'retry',
      'retry',
    ]);
    expect(attempted({ is: 'failure', failure: 'timeout' })).toMatchObject({
      verdict: { is: 'retry' },
      status: null,
      class: 'timeout',
      answer: null,
    });
  });

  test('keeps the first 1,024 bytes of an answer, as a database takes them', () => {
    expect(answer(500, {}, 'ä'.repeat(1_000)).answer).toBe('ä'.repeat(512));
    expect(answer(500, {}, 'a\0b').answer).toBe('a\ufffdb');
  });

  test('is repeated nine times, after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h, up to a tenth later', () => {
    const after = Array.from({ length: 10 }, (_, at) => again(at + 1, answer(500)));
    expect(after.map((at) => (at === null ? null : at - now))).toEqual([
      5 * second,
      5 * minute,
      30 * minute,
      2 * hour,
      5 * hour,
      10 * hour,
      14 * hour,
      20 * hour,
      24 * hour,
      null,
    ]);
    expect(again(2, answer(500), 1)).toBe(now + 5.5 * minute);
  });

  test('waits as long as the receiver asks, where that is longer, and a day at most', () => {
    const asked = (text: string) => answer(503, { 'retry-after': text });
    expect(again(1, asked('120'))).toBe(now + 120 * second);
    expect(again(2, asked('120'))).toBe(now + 5 * minute);
    expect(again(1, asked('999999999'))).toBe(now + day);
  });
});

describe('a webhook', () => {
  test('that is gone is turned off at once', () => {
    expect(afterAttempt(healthy, 'gone', now).off).toBe('gone');
  });

  test('that accepts nothing for five days is turned off, and one success begins anew', () => {
    let health = afterAttempt(healthy, 'retry', now).health;
    expect(health).toEqual({ failing_since: now, last_failed_at: now });
    for (let at = now; at < now + 5 * day; at += 20 * hour) {
      const after = afterAttempt(health, 'retry', at);
      expect(after.off).toBeNull();
      health = after.health;
    }
    expect(afterAttempt(health, 'retry', now + 5 * day).off).toBe('failing');
    expect(afterAttempt(health, 'delivered', now + 5 * day)).toEqual({
      health: healthy,
      off: null,
    });
  });

  test('is not turned off by a failure now and one of long ago, with nothing sent in between', () => {
    const { health } = afterAttempt(healthy, 'retry', now);
    expect(afterAttempt(health, 'retry', now + 30 * day)).toEqual({
      health: { failing_since: now + 30 * day, last_failed_at: now + 30 * day },
      off: null,
    });
  });
});
