import { describe, expect, test } from 'vitest';
import { isSignedBy, signatureOf, signaturesOf } from '../../../shared/bus/identity.ts';
import type { Headers, Message } from '../../../shared/bus/messages.ts';
import { createKey } from '../../../shared/bus/nkeys.ts';

const message = (body: string, headers: Headers): Message => ({
  subject: 'result.europe.0.x',
  data: Buffer.from(body),
  header: (name) => headers[name],
  respond: () => false,
  reply: undefined,
});
const key = createKey('user');
const bodies = Array.from({ length: 40 }, (_, nth) => `{"v":1,"nth":${nth}}`);
const signed = signaturesOf(
  [key],
  bodies.map((body) => Buffer.from(body)),
);
const headersAt = (nth: number): Headers => signed[nth] ?? {};
const bodyAt = (nth: number): string => bodies[nth] ?? '';

describe('bodies that are signed together', () => {
  test('are each signed by their key, in whatever order they come and however often', () => {
    expect(signed).toHaveLength(bodies.length);
    for (const nth of [...bodies.keys(), ...[...bodies.keys()].reverse()])
      expect(isSignedBy([key.id], message(bodyAt(nth), headersAt(nth)))).toBe(true);
    expect(new Set(signed.map(({ Signature }) => Signature)).size).toBeLessThan(5);
  });

  test('are not signed by another key, also after they were found to be signed by theirs', () => {
    expect(isSignedBy([key.id], message(bodyAt(0), headersAt(0)))).toBe(true);
    expect(isSignedBy([createKey('user').id], message(bodyAt(0), headersAt(0)))).toBe(false);
    expect(isSignedBy([], message(bodyAt(0), headersAt(0)))).toBe(false);
    expect(isSignedBy([createKey('user').id, key.id], message(bodyAt(0), headersAt(0)))).toBe(true);
  });

  test('do not vouch for a body that is not among them, nor for a list that something was put into', () => {
    expect(isSignedBy([key.id], message('{"v":1,"nth":"foreign"}', headersAt(0)))).toBe(false);
    expect(isSignedBy([key.id], message(bodyAt(39), headersAt(0)))).toBe(false);
    const [foreign = {}] = signaturesOf([createKey('user')], [Buffer.from('{"v":1,"nth":"foreign"}'), Buffer.from('{}')]);
    const mixed = { ...headersAt(0), Signed: foreign.Signed ?? '' };
    expect(isSignedBy([key.id], message('{"v":1,"nth":"foreign"}', mixed))).toBe(false);
    const longer = { ...headersAt(39), Signed: `${headersAt(39).Signed}.${foreign.Signed}` };
    expect(isSignedBy([key.id], message('{"v":1,"nth":"foreign"}', longer))).toBe(false);
    expect(isSignedBy([key.id], message(bodyAt(39), longer))).toBe(false);
  });

  test('do not make their list a body, nor the signature of one body a list', () => {
    const list = `digests ${headersAt(0).Signed}`;
    expect(isSignedBy([key.id], message(list, { Signature: headersAt(0).Signature ?? '' }))).toBe(true);
    // A body has to be JSON: what the list says in front of its digests is none.
    expect(() => JSON.parse(list)).toThrow();
    const alone = signatureOf(key, Buffer.from(bodyAt(0)));
    expect(isSignedBy([key.id], message(bodyAt(0), alone))).toBe(true);
    expect(isSignedBy([key.id], message(bodyAt(0), { ...alone, Signed: headersAt(0).Signed ?? '' }))).toBe(false);
  });

  test('go singly as ever when only one leaves, and a list that is too long, empty or no list is not read', () => {
    const [alone = {}] = signaturesOf([key], [Buffer.from(bodyAt(0))]);
    expect(Object.keys(alone)).toEqual(['Signature']);
    const long = Array.from({ length: 400 }, () => headersAt(0).Signed).join('.');
    for (const Signed of [long, '', '.', 'x']) expect(isSignedBy([key.id], message(bodyAt(0), { ...headersAt(0), Signed }))).toBe(false);
    expect(isSignedBy([key.id], message(bodyAt(0), { Signed: headersAt(0).Signed ?? '' }))).toBe(false);
  });
});
