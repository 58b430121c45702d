import { describe, expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import {
  announcementKeys,
  createAnnounce,
  isAnnounced,
  isOutdated,
  judgeAnnouncement,
} from '../../../shared/bus/announcement.ts';
import {
  type Batch,
  batchText,
  passText,
  readBatch,
  resultAt,
  wholeText,
} from '../../../shared/bus/batch.ts';
import { isSignedBy, signatureOf, signaturesOf } from '../../../shared/bus/identity.ts';
import {
  batchMessage,
  batchVersion,
  type Headers,
  type Message,
  resultMessage,
} from '../../../shared/bus/messages.ts';
import { createKey } from '../../../shared/bus/nkeys.ts';
import type { Result } from '../../../shared/checks/result.ts';
import fc from '../../support/random.ts';

describe('announcement', () => {
  const [secret, next] = ['a'.repeat(32), 'b'.repeat(32)];
  const idsOf = (...secrets: string[]) => announcementKeys(secrets).map(({ id }) => id);
  const trust = idsOf(secret);
  const announce = createAnnounce(announcementKeys([secret]), () => 1_000);
  const messages = Array.from({ length: 40 }, (_, nth) => ({
    subject: `assign.europe.${nth}`,
    data: nth === 7 ? '' : `{"nth":${nth}}`,
  }));
  const said = announce(messages);

  const judged = (
    nth: number,
    more: { subject?: string; data?: string; headers?: Headers } = {},
    of = trust,
  ) => {
    const headers = more.headers ?? said[nth] ?? {};
    const { subject, data } = {
      subject: messages[nth]?.subject ?? '',
      data: messages[nth]?.data ?? '',
      ...more,
    };
    return judgeAnnouncement(
      of,
      { data: Buffer.from(data), header: (name) => headers[name] },
      subject,
    );
  };

  describe('an announcement', () => {
    test('is accepted with its revision when a coordinator signed it, alone or together with others, and empty ones too', () => {
      for (const nth of messages.keys())
        expect(judged(nth)).toEqual({ is: 'accepted', revision: 1_000 });
      const [alone = {}] = announce([{ subject: 'roster', data: '{}' }]);
      expect(judged(0, { subject: 'roster', data: '{}', headers: alone })).toEqual({
        is: 'accepted',
        revision: 1_000,
      });
    });

    test('is refused on another subject, with other bytes, with another revision, with a foreign signature, or without one', () => {
      const wrong = { is: 'refused', why: 'wrong_signature' };
      expect(judged(3, { subject: 'assign.europe.4' })).toEqual(wrong);
      expect(judged(3, { subject: 'look.3' })).toEqual(wrong);
      expect(judged(3, { data: '' })).toEqual(wrong);
      expect(judged(7, { data: '{"nth":8}' })).toEqual(wrong);
      for (const Revision of ['1001', '', '-1', '1e3'])
        expect(judged(3, { headers: { ...said[3], Revision } })).toEqual(wrong);
      for (const keys of [idsOf(next), []]) expect(judged(3, {}, keys)).toEqual(wrong);
      expect(judged(3, { headers: {} })).toEqual({ is: 'refused', why: 'not_signed' });
    });

    test('is signed by both keys while one replaces the other, so that either is enough to verify it', () => {
      const both = createAnnounce(announcementKeys([next, secret]), () => 5);
      for (const count of [1, 3]) {
        const signed = both(messages.slice(0, count));
        for (const keys of [idsOf(secret), idsOf(next), idsOf(next, secret)])
          expect(judged(0, { headers: signed[0] ?? {} }, keys)).toEqual({
            is: 'accepted',
            revision: 5,
          });
      }
    });

    test('never has a smaller revision than the one before, also when the clock is set back', () => {
      let now = 9_000;
      const one = createAnnounce(announcementKeys([secret]), () => now);
      const revision = () => Number(one([{ subject: 'roster', data: '' }])[0]?.Revision);
      expect(revision()).toBe(9_000);
      now = 4_000;
      expect(revision()).toBe(9_000);
    });

    test('is outdated when the held one is newer by more than clocks differ, unless that came from a clock far ahead', () => {
      expect(isOutdated(10_000, 16_000, 20_000)).toBe(true);
      expect(isOutdated(12_000, 16_000, 20_000)).toBe(false);
      expect(isOutdated(10_000, 16_000 + 3_600_000, 20_000)).toBe(false);
    });
  });

  test('messages from coordinators to probes and to each other are announcements, and no others are', () => {
    for (const subject of [
      'assign.europe.x',
      'assign.marker.3',
      'roster',
      'look.x',
      'receipt.x',
      'beatkey.o.k',
      'presence.x',
      'test.x',
    ])
      expect(isAnnounced(subject)).toBe(true);
    for (const subject of [
      'result.europe.1.x',
      'beat.europe.1.x',
      'lastbeats.o.m',
      '$JS.API.INFO',
      'relay.x.roster',
      'rosters',
    ])
      expect(isAnnounced(subject)).toBe(false);
  });
});

describe('reading a batch', () => {
  const result = (more: object = {}) => ({
    seq: 1,
    monitor: newId(),
    config_version: 1,
    at: 1_795_000_000_000,
    took_ms: 12.5,
    outcome: 'ok',
    cause: null,
    phases: { dns: 1, tcp: null, tls: 3.5, first_byte: 4, total: 9 },
    evidence: null,
    look: null,
    ...more,
  });
  const pass = (
    seq: number,
    more: readonly unknown[] = [12.5, 1, -1, 3.5, 4, 9],
  ): readonly unknown[] => [seq, 1, 1_795_000_000_000 + seq, ...more];
  const batch = (more: object = {}) => ({
    v: batchVersion,
    probe: newId(),
    generation: newId(),
    partition: 3,
    after: null,
    passes: { monitors: [newId(), newId()], numbers: [pass(2), pass(5)].flat() },
    others: [],
    ...more,
  });

  /** The results that a batch says, in its order. */
  const resultsOf = (read: Batch | undefined): unknown =>
    read?.monitors.map((_, place) => resultAt(read, place));

  /** Values that stand on the borders of what is allowed. */
  const odd = fc.oneof(
    fc.constantFrom<unknown>(
      null,
      true,
      '',
      'ok',
      'fail',
      [],
      {},
      0,
      1,
      -1,
      1.5,
      31,
      32,
      2 ** 53,
      Number.MAX_SAFE_INTEGER,
      '1',
      newId(),
      newId().toUpperCase(),
    ),
    fc.jsonValue(),
  );

  test('gives the passes and the other results in order of seq, each as it was', () => {
    const cause = { class: 'http_status', params: { status: 503 } };
    const failed = (seq: number) =>
      result({
        seq,
        outcome: 'fail',
        cause,
        evidence: { a: [1] },
        look: newId(),
        other_looks: [newId()],
      });
    const silent = result({ seq: 7, phases: null });
    const others = [failed(1), failed(3), silent, result({ seq: 9 })];
    const made = batch({ others });
    const read = readBatch(made);
    const [first, second] = made.passes.monitors;
    const phases = { dns: 1, tcp: null, tls: 3.5, first_byte: 4, total: 9 };
    expect(resultsOf(read)).toEqual([
      others[0],
      { ...result({ seq: 2, monitor: first, at: 1_795_000_000_002 }), phases },
      others[1],
      { ...result({ seq: 5, monitor: second, at: 1_795_000_000_005 }), phases },
      silent,
      others[3],
    ]);
    expect(read?.monitors).toHaveLength(6);
    // What is a plain pass is told by its numbers, however it came.
    expect([...(read?.whole.keys() ?? [])]).toEqual([0, 2, 4]);
  });

  test('reads by hand what the schema reads, whatever key holds whatever value', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.keys(batch()), 'more'),
        fc.constantFrom('monitors', 'numbers', 'more'),
        fc.constantFrom(...Object.keys(result()), 'more'),
        odd,
        fc.integer({ min: 0, max: 2 }),
        (key, within, inner, value, where) => {
          const { passes } = batch();
          const made =
            where === 0
              ? batch({ [key]: value })
              : where === 1
                ? batch({ passes: { ...passes, [within]: value } })
                : batch({ others: [result({ seq: 9, [inner]: value })] });
          const { success, data } = batchMessage.safeParse(made);
          const isWhole = success && data.passes.numbers.length === 9 * data.passes.monitors.length;
          const isFilled = success && data.passes.monitors.length + data.others.length > 0;
          expect(readBatch(made) !== undefined).toBe(isWhole && isFilled);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('holds the numbers of a pass to the bounds that the same result has as a whole', () => {
    fc.assert(
      fc.property(fc.nat(8), odd, (nth, value) => {
        const numbers = pass(2).with(nth, value);
        const [seq, config_version, at, took_ms, dns, tcp, tls, first_byte, total] = numbers.map(
          (one, place) => (place > 3 && one === -1 ? null : one),
        );
        const same = result({
          seq,
          config_version,
          at,
          took_ms,
          phases: { dns, tcp, tls, first_byte, total },
        });
        // Null stands for no phase in one of them only, and −1 in the other.
        const isAllowed = resultMessage.safeParse(same).success && value !== null;
        expect(readBatch(batch({ passes: { monitors: [newId()], numbers } })) !== undefined).toBe(
          isAllowed,
        );
      }),
      { numRuns: 2_000 },
    );
  });

  test('refuses what is empty, more than a batch may hold, or not as many numbers as its monitors have', () => {
    const many = (count: number) => ({
      monitors: Array.from({ length: count }, newId),
      numbers: Array.from({ length: count }, (_, nth) => pass(nth + 1)).flat(),
    });
    expect(readBatch(batch({ passes: many(500) }))?.monitors).toHaveLength(500);
    expect(readBatch(batch({ passes: many(501) }))).toBeUndefined();
    expect(readBatch(batch({ passes: many(500), others: [result({ seq: 501 })] }))).toBeUndefined();
    expect(readBatch(batch({ passes: many(0) }))).toBeUndefined();
    expect(readBatch(batch({ passes: many(0), others: [result()] }))?.monitors).toHaveLength(1);
    const { monitors, numbers } = many(2);
    for (const odd of [numbers.slice(1), numbers.slice(9), [...numbers, 1]])
      expect(readBatch(batch({ passes: { monitors, numbers: odd } }))).toBeUndefined();
  });
});

describe('the text of a batch', () => {
  const phase = fc.option(fc.double({ min: 0, max: 30_000, noNaN: true }));
  const result: fc.Arbitrary<Omit<Result, 'seq'>> = fc.oneof(
    fc.record({
      monitor: fc.constant(0).map(newId),
      config_version: fc.integer({ min: 1 }),
      at: fc.integer({ min: 0 }),
      took_ms: fc.double({ min: 0, max: 30_000, noNaN: true }),
      outcome: fc.constant('ok' as const),
      cause: fc.constant(null),
      evidence: fc.constant(null),
      look: fc.option(fc.constant(0).map(newId), { freq: 10 }),
      phases: fc.option(
        fc.record({ dns: phase, tcp: phase, tls: phase, first_byte: phase, total: phase }),
        { freq: 10 },
      ),
    }),
    fc.record({
      monitor: fc.constant(0).map(newId),
      config_version: fc.integer({ min: 1 }),
      at: fc.integer({ min: 0 }),
      took_ms: fc.integer({ min: 0 }),
      outcome: fc.constantFrom('fail' as const, 'unknown' as const),
      cause: fc.constant({ class: 'http_status', params: { status: 503 } }),
      evidence: fc.constant({ text: '[",{' }),
      look: fc.constant(0).map(newId),
      other_looks: fc.constant(0).map(() => [newId()]),
      phases: fc.constant(null),
    }),
  );
  const head = { probe: newId(), generation: newId(), partition: 7, after: 3 };
  const textsOf = (results: readonly Omit<Result, 'seq'>[]): string[] =>
    results.map((one, nth) => passText(nth + 4, one) ?? wholeText(nth + 4, one));

  test('is read as the same results that it was written from', () => {
    fc.assert(
      fc.property(fc.array(result, { minLength: 1, maxLength: 20 }), (results) => {
        const body: unknown = JSON.parse(batchText(head, textsOf(results)));
        const read = readBatch(body);
        // What JSON cannot tell apart is the same.
        const expected: unknown = JSON.parse(
          JSON.stringify(results.map((one, nth) => ({ seq: nth + 4, ...one }))),
        );
        expect(read?.monitors.map((_, place) => resultAt(read, place))).toEqual(expected);
        expect(read).toMatchObject(head);
      }),
      { numRuns: 500 },
    );
  });

  test('takes less than half of the bytes for passes that they take as whole results', () => {
    const phases = { dns: 1.2, tcp: 9.8, tls: 20.1, first_byte: 30.5, total: 35.2 };
    const passes = Array.from({ length: 100 }, () => ({
      monitor: newId(),
      config_version: 1,
      at: 1_795_000_000_000,
      took_ms: 35.25,
      outcome: 'ok' as const,
      cause: null,
      phases,
      evidence: null,
      look: null,
    }));
    const whole = passes.map((one, nth) => wholeText(nth + 4, one));
    expect(batchText(head, textsOf(passes)).length).toBeLessThan(
      0.45 * batchText(head, whole).length,
    );
  });
});

describe('bodies that are signed together', () => {
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

  test('are each signed by their key, in whatever order they come and however often', () => {
    expect(signed).toHaveLength(bodies.length);
    for (const nth of [...bodies.keys(), ...[...bodies.keys()].reverse()])
      expect(isSignedBy([key.id], message(bodyAt(nth), headersAt(nth)))).toBe(true);
    expect(new Set(signed.map(({ Signature }) => Signature)).size).toBeLessThan(5);
  });

  test('are not signed by another key, also after theirs verified', () => {
    expect(isSignedBy([key.id], message(bodyAt(0), headersAt(0)))).toBe(true);
    expect(isSignedBy([createKey('user').id], message(bodyAt(0), headersAt(0)))).toBe(false);
    expect(isSignedBy([], message(bodyAt(0), headersAt(0)))).toBe(false);
    expect(isSignedBy([createKey('user').id, key.id], message(bodyAt(0), headersAt(0)))).toBe(true);
  });

  test('do not vouch for a body that is not among them, nor for a list that something was put into', () => {
    expect(isSignedBy([key.id], message('{"v":1,"nth":"foreign"}', headersAt(0)))).toBe(false);
    expect(isSignedBy([key.id], message(bodyAt(39), headersAt(0)))).toBe(false);
    const [foreign = {}] = signaturesOf(
      [createKey('user')],
      [Buffer.from('{"v":1,"nth":"foreign"}'), Buffer.from('{}')],
    );
    const mixed = { ...headersAt(0), Signed: foreign.Signed ?? '' };
    expect(isSignedBy([key.id], message('{"v":1,"nth":"foreign"}', mixed))).toBe(false);
    const longer = { ...headersAt(39), Signed: `${headersAt(39).Signed}.${foreign.Signed}` };
    expect(isSignedBy([key.id], message('{"v":1,"nth":"foreign"}', longer))).toBe(false);
    expect(isSignedBy([key.id], message(bodyAt(39), longer))).toBe(false);
  });

  test('do not make their list a body, nor the signature of one body a list', () => {
    const list = `digests ${headersAt(0).Signed}`;
    expect(isSignedBy([key.id], message(list, { Signature: headersAt(0).Signature ?? '' }))).toBe(
      true,
    );
    // A body has to be JSON: what the list says in front of its digests is none.
    expect(() => JSON.parse(list)).toThrow();
    const alone = signatureOf(key, Buffer.from(bodyAt(0)));
    expect(isSignedBy([key.id], message(bodyAt(0), alone))).toBe(true);
    expect(
      isSignedBy([key.id], message(bodyAt(0), { ...alone, Signed: headersAt(0).Signed ?? '' })),
    ).toBe(false);
  });

  test('are sent singly when only one leaves, and a list that is too long, empty or invalid is not read', () => {
    const [alone = {}] = signaturesOf([key], [Buffer.from(bodyAt(0))]);
    expect(Object.keys(alone)).toEqual(['Signature']);
    const long = Array.from({ length: 400 }, () => headersAt(0).Signed).join('.');
    for (const Signed of [long, '', '.', 'x'])
      expect(isSignedBy([key.id], message(bodyAt(0), { ...headersAt(0), Signed }))).toBe(false);
    expect(isSignedBy([key.id], message(bodyAt(0), { Signed: headersAt(0).Signed ?? '' }))).toBe(
      false,
    );
  });
});
