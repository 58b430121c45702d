import { describe, expect, test } from 'vitest';
import { newId } from '../../../../shared/base/crypto.ts';
import {
  creatingFingerprint,
  namedFingerprint,
  pingFingerprint,
} from '../../../../shared/checks/heartbeat/config.ts';
import {
  foldPing,
  mergePings,
  noPings,
  notAfter,
  type Ping,
  type PingState,
  parsePingCall,
  placeOf,
  withSettings,
} from '../../../../shared/checks/heartbeat/state.ts';
import fc from '../../../support/random.ts';

/**
 * What pings come to, held against plain words: the last of each kind, and the runs that have begun
 * and not ended.
 */
describe('ping state', () => {
  const second = 1_000;
  type Kind = Ping['kind'];
  const pingAt = (
    kind: Kind,
    at: number,
    rid: string | null = null,
    id = `${kind} ${at} ${rid}`,
  ): Ping => ({
    id,
    kind,
    exit_code: null,
    at,
    rid,
  });
  const fold = (pings: readonly Ping[], from: PingState = noPings): PingState =>
    pings.reduce((state, ping) => foldPing(state, ping).state, from);

  const markOf = (ping: Ping | undefined) =>
    ping ? { id: ping.id, at: ping.at, exit_code: ping.exit_code } : null;
  const inWords = (pings: readonly Ping[]): PingState => {
    const inOrder = pings.toSorted((a, b) => a.at - b.at);
    const isEnd = ({ kind }: Ping) => kind === 'success' || kind === 'fail';
    const lastEnd = (rid: string | null) =>
      inOrder.findLast((ping) => isEnd(ping) && ping.rid === rid);
    const last = inOrder.findLast(isEnd);
    return {
      ...noPings,
      good: markOf(inOrder.findLast(({ kind }) => kind === 'success')),
      bad: markOf(inOrder.findLast(({ kind }) => kind === 'fail')),
      latest: last ? (last.kind === 'success' ? 'good' : 'bad') : null,
      open: inOrder
        .filter(({ kind, rid, at }) => kind === 'start' && at > (lastEnd(rid)?.at ?? 0))
        .map(({ rid, at }) => ({ rid, at })),
      ended: [...new Set(inOrder.map(({ rid }) => rid))].flatMap((rid) => {
        const end = lastEnd(rid);
        return end ? [{ rid, at: end.at }] : [];
      }),
    };
  };
  const sorted = (state: PingState): PingState => ({
    ...state,
    ended: state.ended.toSorted((a, b) => a.at - b.at),
  });

  /** Each in a second of its own, in the order in which they arrive. */
  const pings = fc
    .array(
      fc.record({
        kind: fc.constantFrom<Kind>('success', 'fail', 'start', 'log'),
        rid: fc.constantFrom(null, 'a', 'b'),
      }),
      {
        maxLength: 12,
      },
    )
    .chain((some) => {
      const all = some.map(({ kind, rid }, nth) => pingAt(kind, (nth + 1) * second, rid));
      return fc.shuffledSubarray(all, { minLength: all.length });
    });

  describe('the sum of pings is', () => {
    test('the last of each kind and the runs that have not ended, in whatever order they arrive', () => {
      fc.assert(
        fc.property(pings, (all) => {
          expect(sorted(fold(all))).toEqual(sorted(inWords(all)));
        }),
      );
    });

    test('the same when they were delivered twice, to the same receiver or to another', () => {
      fc.assert(
        fc.property(pings, fc.nat(), (all, place) => {
          const [here, there] = [
            all.slice(0, place % (all.length + 1)),
            all.slice(place % (all.length + 1)),
          ];
          const whole = sorted(inWords(all));
          expect(sorted(mergePings(fold(here), fold(there)))).toEqual(whole);
          expect(sorted(mergePings(fold(there), fold(here)))).toEqual(whole);
          expect(sorted(mergePings(fold(all), fold(here)))).toEqual(whole);
        }),
      );
    });

    test('nothing new when one of them is repeated', () => {
      const known = fold([pingAt('success', 1), pingAt('fail', 2), pingAt('start', 3)]);
      for (const again of [
        pingAt('success', 1),
        pingAt('fail', 2),
        pingAt('start', 3),
        pingAt('log', 9),
      ])
        expect(foldPing(known, again)).toEqual({ state: known, run_ms: null });
    });

    test('nothing new when one of two of one millisecond is repeated, and two runs when two began in one', () => {
      for (const [first, last] of [
        ['fail', 'success'],
        ['success', 'fail'],
      ] as const) {
        const known = fold([pingAt(first, 5), pingAt(last, 5)]);
        expect(foldPing(known, pingAt(first, 5)).state).toBe(known);
      }
      expect(fold([pingAt('start', 5, 'a'), pingAt('start', 5, 'b')]).open).toHaveLength(2);
    });

    test('the last one, when two fell into one millisecond', () => {
      expect(fold([pingAt('success', 5), pingAt('fail', 5)]).latest).toBe('bad');
      expect(fold([pingAt('fail', 5), pingAt('success', 5)]).latest).toBe('good');
      const [good, bad] = [fold([pingAt('success', 5)]), fold([pingAt('fail', 5)])];
      const both = fold([pingAt('success', 5), pingAt('fail', 5)]);
      expect(mergePings(good, both).latest).toBe('bad');
      expect(mergePings(both, good).latest).toBe('good');
      expect(mergePings(both, noPings).latest).toBe('bad');
      expect(mergePings(bad, good)).toMatchObject({
        good: { at: 5 },
        bad: { at: 5 },
        latest: 'good',
      });
      expect(
        fold([pingAt('success', 5, null, 'x'), pingAt('success', 5, null, 'y')]).good?.id,
      ).toBe('y');
      const seen = fold([pingAt('success', 5, null, 'seen')]);
      expect(mergePings(good, seen).good?.id).toBe('seen');
    });
  });

  describe('a run', () => {
    test('took from its last begin to its end, and nothing when it never began', () => {
      const open = fold([
        pingAt('start', second, 'a'),
        pingAt('start', 4 * second, 'a'),
        pingAt('start', 5 * second, 'b'),
      ]);
      const ended = foldPing(open, pingAt('fail', 9 * second, 'a'));
      expect(ended).toMatchObject({ run_ms: 5 * second, state: { open: [{ rid: 'b' }] } });
      expect(foldPing(ended.state, pingAt('success', 9 * second, 'a')).run_ms).toBeNull();
      expect(foldPing(fold([pingAt('start', second)]), pingAt('success', second)).run_ms).toBe(0);
    });

    test('with a name may end a quarter of a second before it began by another clock, and no more', () => {
      const start = pingAt('start', 10 * second, 'a');
      const end = (before: number) => pingAt('success', 10 * second - before, 'a');
      for (const [before, open] of [
        [250, 0],
        [251, 1],
      ] as const) {
        expect(fold([start, end(before)]).open).toHaveLength(open);
        expect(fold([end(before), start]).open).toHaveLength(open);
      }
    });

    test('is one of sixteen: the oldest are dropped, but before any good ping the first stays, which the deadline counts from', () => {
      const all = Array.from({ length: 17 }, (_, nth) =>
        pingAt('start', (nth + 1) * second, `r${nth}`),
      );
      const names = all.map(({ rid }) => rid).slice(1);
      expect(fold([pingAt('success', 0), ...all]).open.map(({ rid }) => rid)).toEqual(names);
      expect(fold(all).open.map(({ rid }) => rid)).toEqual(['r0', ...names.slice(1)]);
      const ends = all.map((ping): Ping => ({ ...ping, kind: 'success', id: `end ${ping.at}` }));
      expect(fold(ends).ended.map(({ rid }) => rid)).toEqual(names);
      const [older, newer] = [fold(ends.slice(0, 9)), fold(ends.slice(9))];
      expect(mergePings(newer, older).ended.map(({ rid }) => rid)).toEqual(names);
    });
  });

  test('without a wrong clock all earlier pings remain, and the last of them', () => {
    const known = fold([
      pingAt('success', 10),
      pingAt('fail', 20),
      pingAt('start', 30, 'a'),
      pingAt('start', 40, 'b'),
    ]);
    expect(notAfter(known, 40)).toBe(known);
    expect(notAfter(known, 39)).toEqual({ ...known, open: [{ rid: 'a', at: 30 }] });
    expect(notAfter(known, 19)).toEqual({
      ...known,
      bad: null,
      latest: 'good',
      open: [],
      ended: [],
    });
    expect(notAfter(known, 9)).toEqual(noPings);
    const tied = fold([pingAt('success', 10), pingAt('fail', 10), pingAt('start', 99)]);
    expect(notAfter(tied, 50).latest).toBe('bad');
  });

  describe('the schedule in two records', () => {
    const of = (terms: number | null, from: number | null, paused: boolean): PingState => ({
      ...noPings,
      terms,
      from,
      paused,
    });

    test('is the newer version, the later beginning, and the pause that the bus knows', () => {
      expect(mergePings(of(3, 50, true), of(4, 40, false))).toEqual(of(4, 50, false));
      expect(mergePings(of(4, 40, false), of(3, 50, true))).toEqual(of(4, 50, true));
      expect(mergePings(of(3, 50, true), noPings)).toEqual(of(3, 50, true));
      expect(mergePings(noPings, of(3, 50, true))).toEqual(of(3, 50, true));
    });
  });

  describe('rule 20: a changed schedule', () => {
    const now = 1_000;
    const known: PingState = {
      ...fold([pingAt('success', 10)]),
      terms: 3,
      paused: false,
      from: 20,
    };

    test('gives the job its whole time again from now on, but never from an earlier moment than before', () => {
      expect(withSettings(known, { version: 4, paused: false }, now)).toEqual({
        ...known,
        terms: 4,
        from: now,
      });
      expect(
        withSettings({ ...known, from: now + 5 }, { version: 4, paused: false }, now).from,
      ).toBe(now + 5);
      expect(withSettings({ ...known, from: null }, { version: 4, paused: false }, now).from).toBe(
        now,
      );
    });

    test('so does the end of a pause, and not its beginning, nor the first that is known of them', () => {
      const paused = withSettings(known, { version: 3, paused: true }, now);
      expect(paused).toEqual({ ...known, paused: true });
      expect(withSettings(paused, { version: 3, paused: false }, now)).toEqual({
        ...known,
        from: now,
      });
      expect(withSettings(noPings, { version: 7, paused: false }, now)).toEqual({
        ...noPings,
        terms: 7,
      });
    });

    test('is ignored when it is the same, or older', () => {
      expect(withSettings(known, { version: 3, paused: false }, now)).toBe(known);
      expect(withSettings(known, { version: 2, paused: true }, now)).toBe(known);
    });
  });
});

describe('rule 20: a ping in order of time', () => {
  const terms = { interval_ms: 60_000, grace_ms: 0, max_run_ms: 30_000, schedule: null };
  const ping = (
    second: number,
    kind: Ping['kind'] = 'success',
    rid: string | null = null,
  ): Ping => ({
    id: `${kind} ${second}`,
    kind,
    exit_code: null,
    at: second * 1_000,
    rid,
  });
  const place = (one: Ping, others: readonly Ping[], from: number | null = null) =>
    placeOf(one, [...others, one], from, terms);

  test('that is bad begins an outage with itself, with the deadline that had passed, or with the failure before', () => {
    expect(place(ping(50, 'fail'), [ping(0)]).began_at).toBe(50_000);
    expect(place(ping(90, 'fail'), [ping(0)]).began_at).toBe(60_000);
    expect(place(ping(90, 'fail'), [ping(20, 'fail'), ping(0)]).began_at).toBe(20_000);
    expect(place(ping(90, 'fail'), [ping(20, 'fail'), ping(85), ping(0)]).began_at).toBe(90_000);
    expect(place(ping(55, 'fail', 'a'), [ping(0), ping(20, 'start', 'a')]).began_at).toBe(50_000);
    // At the very deadline it is in time.
    expect(place(ping(80, 'fail', 'a'), [ping(0), ping(60, 'start', 'a')]).began_at).toBe(80_000);
  });

  test('knows the next good one, and the bad ones before that, whatever came first', () => {
    const others = [ping(80), ping(30, 'fail'), ping(50), ping(40, 'fail'), ping(60, 'fail')];
    expect(place(ping(20), others)).toMatchObject({
      next_good_at: 50_000,
      bad: [ping(30, 'fail'), ping(40, 'fail')],
      fails_at: 30_000,
    });
    expect(place(ping(90), others)).toMatchObject({ next_good_at: null, bad: [], fails_at: null });
  });

  test('that is good shows when it had failed again by the next good one', () => {
    expect(place(ping(0), [ping(59)]).fails_at).toBeNull();
    expect(place(ping(0), [ping(200)]).fails_at).toBe(60_000);
    expect(place(ping(0), [ping(10, 'start'), ping(200)]).fails_at).toBe(40_000);
  });

  test('that is a start shows the same of the good one before it, for which its run may have moved the deadline either way', () => {
    expect(place(ping(10, 'start'), [ping(0), ping(200)])).toMatchObject({
      next_good_at: 200_000,
      fails_at: 40_000,
    });
    expect(place(ping(50, 'start'), [ping(0), ping(70)])).toMatchObject({
      next_good_at: 70_000,
      fails_at: null,
    });
    expect(place(ping(50, 'start'), [ping(0), ping(70)]).began_at).toBe(50_000);
    expect(place(ping(50, 'start'), [ping(0)])).toMatchObject({
      next_good_at: null,
      fails_at: null,
    });
  });

  test('that is a start shows it of each good one that the limit of its run reaches to, and of the bad ones until the last of them', () => {
    const start = ping(10, 'start', 'a');
    expect(place(start, [ping(0), ping(12), ping(55, 'fail')])).toMatchObject({
      next_good_at: 12_000,
      fails_at: null,
      bad: [ping(55, 'fail')],
    });
    expect(place(ping(55, 'fail'), [ping(0), ping(12), start]).began_at).toBe(40_000);
    const made = place(start, [ping(0), ping(12), ping(55, 'fail'), ping(60), ping(65, 'fail')]);
    expect(made).toMatchObject({
      fails_at: null,
      later: [{ next_good_at: 60_000, fails_at: 40_000 }],
      bad: [ping(55, 'fail')],
    });
    expect(
      place({ ...start, kind: 'success' }, [ping(0), ping(12), ping(55, 'fail')]),
    ).toMatchObject({ later: [], bad: [] });
  });

  test('counts nothing from before its monitor was resumed or its schedule changed', () => {
    expect(place(ping(90, 'fail'), [ping(0)], 50_000).began_at).toBe(90_000);
  });
});

describe('state', () => {
  describe('a named run whose ends come with slightly different times from two ping receivers', () => {
    const start: Ping = { id: 'b1', kind: 'start', exit_code: null, at: 1_000_002, rid: 'r' };
    const end: Ping = { id: 'b2', kind: 'success', exit_code: null, at: 1_000_000, rid: 'r' };

    test('is over, with no duration, in whichever order the two come', () => {
      const inTurn = foldPing(foldPing(noPings, start).state, end);
      expect(inTurn).toMatchObject({ run_ms: 0, state: { open: [] } });
      expect(foldPing(foldPing(noPings, end).state, start).state.open).toEqual([]);
    });

    test('is not over by an end that is further back, nor is a run without a name', () => {
      expect(
        foldPing(foldPing(noPings, start).state, { ...end, at: end.at - 1_000 }).state.open,
      ).toHaveLength(1);
      expect(
        foldPing(foldPing(noPings, { ...start, rid: null }).state, { ...end, rid: null }).state
          .open,
      ).toHaveLength(1);
    });
  });

  test('times from a wrong clock far ahead are left out, and nothing else', () => {
    const ping = (kind: 'success' | 'fail' | 'start', at: number) => ({
      id: newId(),
      kind,
      exit_code: null,
      at,
      rid: null,
    });
    const known = foldPing(foldPing(noPings, ping('fail', 10)).state, ping('start', 20)).state;
    expect(notAfter(known, 30)).toBe(known);
    const ahead = foldPing(known, ping('success', 9_000)).state;
    expect(ahead).toMatchObject({ latest: 'good', open: [] });
    expect(notAfter(ahead, 30)).toMatchObject({
      latest: 'bad',
      good: null,
      bad: { at: 10 },
      ended: [],
    });
  });
});

describe('the address under a ping key', () => {
  const token = 'pk_abcdefghijklmnopqrstuvwx';
  const named = (external_id: string, create = false) => ({
    token,
    named: { external_id, create },
    kind: 'success',
    exit_code: null,
    rid: null,
  });

  test.each([
    ['/backup', named('backup')],
    ['/shop/nightly%20backup', named('shop/nightly backup')],
    ['/shop/backup/start', { ...named('shop/backup'), kind: 'start' }],
    ['/shop/backup/3', { ...named('shop/backup'), kind: 'fail', exit_code: 3 }],
    ['/shop%2Fstart', named('shop/start')],
    ['/backup?create=1', named('backup', true)],
    ['/backup/log?create=0', { ...named('backup'), kind: 'log' }],
    ['/start', { token, named: null, kind: 'start', exit_code: null, rid: null }],
  ])('with %j behind it is a ping of the monitor that is called so', (more, expected) => {
    expect(parsePingCall(`/beat/${token}${more}`)).toEqual(expected);
  });

  test.each([
    '/%',
    '/%00',
    '/%20',
    '/%C3',
    `/${'x'.repeat(201)}`,
    `/${'x'.repeat(4_000)}`,
    '/job/256',
  ])('with %j behind it is none', (more) => {
    expect(parsePingCall(`/beat/${token}${more}`)).toBe('no_such_address');
  });

  test('is known by a key that follows from both, and from nothing else', () => {
    const key = pingFingerprint(token);
    expect(namedFingerprint(key, 'backup')).toMatch(/^[0-9a-f]{64}$/);
    const all = ['', 'a', '/a', 'a/', 'b'].map((id) => namedFingerprint(key, id));
    expect(new Set([...all, key]).size).toBe(6);
    expect(creatingFingerprint(key)).toBe(all[0]);
  });
});
