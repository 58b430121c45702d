import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { describe, expect, test } from 'vitest';
import { createGuard } from '../../../probe/checks/guard.ts';
import { createHeartbeatCheck } from '../../../probe/checks/heartbeat.ts';
import {
  type Alarm,
  BodyMemory,
  type BodyShare,
  type CheckDeadline,
  clearAlarm,
  newAlarm,
  setAlarm,
} from '../../../probe/checks/limits.ts';
import { causeLayer, causeSentence } from '../../../shared/checks/causes.ts';
import { noPings, type PingState } from '../../../shared/checks/heartbeat/state.ts';
import { withoutTemporal } from '../../support/eventually.ts';
import fc from '../../support/random.ts';
import { assignmentOf, deadlineIn, httpsChecker } from '../support/checkers.ts';
import { serve, serveRaw } from '../support/observations.ts';

describe('body memory', () => {
  const mebi = 1_048_576;

  describe('the memory of all bodies together', () => {
    test('never exceeds the limit, and a waiting one gets its turn once others are over', () => {
      const sizes = fc.array(fc.integer({ min: 1, max: 10 }), { maxLength: 30 });
      fc.assert(
        fc.property(sizes, fc.array(fc.nat(), { maxLength: 60 }), (wholes, order) => {
          const memory = new BodyMemory(10);
          const granted: number[] = [];
          const open = wholes.map((whole, nth) => {
            const share = memory.share(whole, `shop ${nth % 3}`);
            if (share.allows(100_000, () => granted.push(nth))) granted.push(nth);
            expect(memory.held).toBeLessThanOrEqual(10);
            return share;
          });
          const left = [...open];
          for (let i = 0; left.length > 0; i += 1) {
            const [share] = left.splice((order[i] ?? 0) % left.length, 1);
            share?.release();
            expect(memory.held).toBeLessThanOrEqual(10);
            // Nobody waits beside an empty store.
            if (left.length > 0) expect(left.some(({ mode }) => mode === 'granted')).toBe(true);
          }
          expect(memory.held).toBe(0);
          expect(new Set(granted).size).toBe(granted.length);
        }),
      );
    });

    test('leaves short bodies alone', () => {
      const memory = new BodyMemory(1);
      memory.share(1, 'shop').allows(100_000, () => undefined);
      expect(memory.share(1, 'shop').allows(65_536, () => undefined)).toBe(true);
      expect(memory.held).toBe(1);
    });

    test('has room for others, however many bodies of one organisation hang', () => {
      const memory = new BodyMemory(16);
      const take = (organisation: string, count: number): readonly BodyShare[] =>
        Array.from({ length: count }, () => {
          const share = memory.share(1, organisation);
          share.allows(100_000, () => undefined);
          return share;
        });
      const granted = (shares: readonly BodyShare[]) =>
        shares.filter(({ mode }) => mode === 'granted').length;
      // Alone it gets all of it.
      const alone = take('hanging', 20);
      expect(granted(alone)).toBe(16);
      for (const share of [...alone, ...take('one', 1)]) share.release();
      expect(memory.held).toBe(0);
      const hanging = take('hanging', 40);
      expect(granted(hanging)).toBe(8);
      const [one, two] = [take('one', 4), take('two', 4)];
      expect([granted(one), granted(two)]).toEqual([4, 4]);
      const late = take('late', 1);
      expect(granted(late)).toBe(0);
      one[0]?.release();
      expect(granted(late)).toBe(1);
      for (const share of [...one, ...two, ...late]) share.release();
      expect(granted(hanging)).toBe(8);
      hanging[0]?.release();
      expect([granted(hanging), memory.held]).toEqual([8, 8]);
    });
  });

  describe('long bodies that come at once', () => {
    const body = `${'x'.repeat(900_000)} the end`;

    test('are each judged whole, a few at a time', async () => {
      const memory = new BodyMemory(6 * mebi);
      let limit = 0;
      const release = memory.give.bind(memory);
      memory.give = (share) => {
        limit = Math.max(limit, memory.held);
        release(share);
      };
      // All have half of their body before any has the rest: two checks hold memory at a time.
      const half = body.length / 2;
      const sockets: Socket[] = [];
      const target = await serveRaw((socket) => {
        socket.once('data', () => {
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
          socket.write(body.slice(0, half));
          sockets.push(socket);
        });
      });
      const check = httpsChecker({ memory });
      const verdicts = Promise.all(
        Array.from({ length: 12 }, () =>
          check(
            target.url(),
            { body_contains: 'the end' },
            { timeout_ms: 20_000, evidence_wanted: false },
          ),
        ),
      );
      await expect.poll(() => sockets.length).toBe(12);
      await expect.poll(() => memory.held).toBe(6 * mebi);
      for (const socket of sockets) socket.end(body.slice(half));
      expect((await verdicts).map(({ outcome }) => outcome)).toEqual(Array(12).fill('ok'));
      expect(limit).toBe(6 * mebi);
      expect(memory.held).toBe(0);
    });

    test('say nothing of a target whose turn does not come in time', async () => {
      const memory = new BodyMemory(3 * mebi);
      const hanging = await serveRaw((socket) => {
        socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n\r\n${body}`));
      });
      const target = await serve();
      target.answer({ is: 'status', status: 200, body });
      const check = httpsChecker({ memory });
      const holder = check(hanging.url(), { body_contains: 'never' }, { timeout_ms: 3_000 });
      await expect.poll(() => memory.held).toBe(3 * mebi);
      expect(
        await check(target.url(), { body_contains: 'the end' }, { timeout_ms: 500 }),
      ).toMatchObject({
        outcome: 'unknown',
        cause: { class: 'probe_held_up' },
      });
      expect(await holder).toMatchObject({ outcome: 'fail', cause: { class: 'timed_out' } });
      expect(memory.held).toBe(0);
    });

    test('say nothing of a target that gave up while its answer waited', async () => {
      const memory = new BodyMemory(1);
      const other = memory.share(1, 'another');
      expect(other.allows(100_000, () => undefined)).toBe(true);
      const waitMs = 1_100;
      const take = memory.take.bind(memory);
      memory.take = (share, granted) => {
        setTimeout(() => other.release(), waitMs);
        return take(share, granted);
      };
      const target = await serveRaw((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => {
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
          socket.end(body.slice(0, 200_000));
        });
      });
      const began = performance.now();
      const verdict = await httpsChecker({ memory })(target.url(), { body_contains: 'the end' });
      const all = performance.now() - began;
      expect(verdict).toMatchObject({ outcome: 'unknown', cause: { class: 'probe_held_up' } });
      // The wait is none of the target's time; timers may ring a millisecond early.
      expect(all - (verdict.phases?.total ?? all)).toBeGreaterThanOrEqual(waitMs - 2);
    });

    test('are matched in slices, and given up where a pattern costs too much', async () => {
      let drawn = 1;
      const mixed = Array.from({ length: mebi }, () => {
        drawn = (drawn * 48_271) % 2_147_483_647;
        return drawn % 2 === 0 ? 'a' : 'b';
      }).join('');
      const target = await serve();
      target.answer({ is: 'status', status: 200, body: mixed });
      let turns = 0;
      const others = setInterval(() => {
        turns += 1;
      }, 0);
      const config = { body_matches: '(?:a|b)*a(?:a|b){500}c' };
      try {
        expect(await httpsChecker()(target.url(), config)).toMatchObject({
          outcome: 'fail',
          cause: { class: 'pattern_too_costly' },
        });
      } finally {
        clearInterval(others);
      }
      expect(turns).toBeGreaterThan(100);
      expect(await httpsChecker()(target.url(), { body_matches: '(?:a+)+c|(a*)*$' })).toMatchObject(
        { outcome: 'ok' },
      );
    });

    test('of one byte a chunk are ended early', async () => {
      const target = await serveRaw((socket) => {
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
          socket.end(`${'1\r\nx\r\n'.repeat(mebi)}0\r\n\r\n`);
        });
      });
      expect(await httpsChecker()(target.url(), { body_contains: 'x' })).toMatchObject({
        outcome: 'fail',
        sentence: 'The framing of the response outweighs its body',
      });
    });
  });
});

describe('the deadline of a check', () => {
  /** Listens under a name; what was told stands in `heard`. */
  const listeners = (deadline: CheckDeadline) => {
    const heard: string[] = [];
    const listen = (name: string) => {
      const expiring = { expire: () => void heard.push(name) };
      deadline.listen(expiring);
      return expiring;
    };
    return { heard, listen };
  };

  const untilOver = (deadline: CheckDeadline): Promise<void> =>
    new Promise((resolve) => deadline.listen({ expire: resolve }));

  test('notifies all listeners, once, when its time is over and not before', async () => {
    const began = performance.now();
    // Longer than this process is ever held up between here and the first look at it.
    const deadline = deadlineIn(1_000);
    const { heard, listen } = listeners(deadline);
    for (const name of ['first', 'second', 'third']) listen(name);
    expect(deadline.isOver()).toBe(false);
    await untilOver(deadline);
    expect(performance.now()).toBeGreaterThanOrEqual(began + 1_000);
    expect(deadline.isOver()).toBe(true);
    deadline.end();
    expect(heard.toSorted()).toEqual(['first', 'second', 'third']);
  });

  test('is over without a listener', async () => {
    const deadline = deadlineIn(5);
    await untilOver(deadlineIn(5));
    expect(deadline.isOver()).toBe(true);
  });

  test('can be ended sooner, which notifies all listeners', () => {
    const deadline = deadlineIn(Number.POSITIVE_INFINITY);
    const { heard, listen } = listeners(deadline);
    listen('first');
    listen('second');
    deadline.end();
    expect(deadline.isOver()).toBe(true);
    expect(heard.toSorted()).toEqual(['first', 'second']);
  });

  test('does not notify a removed listener, whichever it was', () => {
    const names = ['first', 'second', 'third'];
    for (const gone of names) {
      const deadline = deadlineIn(Number.POSITIVE_INFINITY);
      const { heard, listen } = listeners(deadline);
      const all = new Map(names.map((name) => [name, listen(name)]));
      const one = all.get(gone);
      if (one) deadline.unlisten(one);
      deadline.end();
      expect(heard.toSorted()).toEqual(names.filter((name) => name !== gone));
    }
  });

  test('notifies the remaining ones when one of them removes another', () => {
    const deadline = deadlineIn(Number.POSITIVE_INFINITY);
    const { heard, listen } = listeners(deadline);
    const last = { expire: () => void heard.push('last') };
    deadline.listen({ expire: () => deadline.unlisten(last) });
    listen('middle');
    deadline.listen(last);
    deadline.end();
    expect(heard).toContain('middle');
  });

  test('notifies none once the check has settled', async () => {
    const deadline = deadlineIn(20);
    const { heard, listen } = listeners(deadline);
    listen('first');
    listen('second');
    deadline.settle();
    await untilOver(deadlineIn(60));
    expect(heard).toEqual([]);
  });
});

describe('an alarm', () => {
  /** Settles when the alarm has rung, with what the clock said. */
  const rung = (
    afterMs: number,
    also: () => void = () => undefined,
  ): Promise<{ readonly due: number; readonly at: number }> =>
    new Promise((resolve) => {
      const due = performance.now() + afterMs;
      const alarm = newAlarm(() => {
        also();
        resolve({ due, at: performance.now() });
      });
      setAlarm(alarm, due);
    });

  test('never rings before it is due', async () => {
    const all = await Promise.all([0, 5, 30, 55, 90].map((ms) => rung(ms)));
    expect(all.every(({ due, at }) => at >= due)).toBe(true);
  });

  test('that was cleared does not ring, whatever cleared it', async () => {
    const heard: string[] = [];
    const others: Alarm[] = Array.from({ length: 5 }, (_, nth) =>
      newAlarm(() => heard.push(`other ${nth}`)),
    );
    const due = performance.now() + 30;
    for (const other of others) setAlarm(other, due + 60);
    // One that rings clears those before and behind it.
    await rung(30, () => others.forEach(clearAlarm));
    await rung(150);
    expect(heard).toEqual([]);
  });

  test('that rings does not make others miss theirs, however many are set and cleared meanwhile', async () => {
    const heard = new Set<number>();
    const alarms = Array.from({ length: 200 }, (_, nth) => newAlarm(() => heard.add(nth)));
    const due = performance.now() + 20;
    for (const alarm of alarms) setAlarm(alarm, due);
    for (const [nth, alarm] of alarms.entries()) if (nth % 3 === 0) clearAlarm(alarm);
    await rung(60, () =>
      setAlarm(
        newAlarm(() => heard.add(1_000)),
        0,
      ),
    );
    await rung(60);
    expect(heard).toEqual(new Set([...alarms.keys()].filter((nth) => nth % 3 !== 0).concat(1_000)));
  });

  test('that is set again rings once, at its later time', async () => {
    const rings: number[] = [];
    const alarm = newAlarm(() => rings.push(performance.now()));
    const due = performance.now() + 20;
    setAlarm(alarm, due);
    setAlarm(alarm, due + 60);
    await rung(150);
    expect(rings).toHaveLength(1);
    expect(rings[0]).toBeGreaterThanOrEqual(due + 60);
  });
});

/** What a probe says of a heartbeat, by what it sees on the bus in that moment (rule 20). */
describe('a heartbeat', () => {
  const now = 1_800_000_000_000;
  const mark = (ago: number, exit_code: number | null = null) => ({
    id: `beat ${ago}`,
    at: now - ago,
    exit_code,
  });

  const judged = async (state: PingState | undefined, config = {}, readMs = 0) => {
    const next: (number | null)[] = [];
    let time = now;
    const read = async () => {
      time += readMs;
      return state;
    };
    const check = createHeartbeatCheck({ view: { read }, onJudged: (_, at) => next.push(at) });
    const { outcome, cause } = await check({
      assignment: assignmentOf('', {
        kind: 'heartbeat',
        interval_ms: 60_000,
        timeout_ms: 10_000,
        config,
        config_version: 3,
      }),
      started_at: now,
      deadline: deadlineIn(Number.POSITIVE_INFINITY),
      evidence_wanted: true,
      guard: createGuard({ allow: [], bus: () => [], own: () => [] }),
      probe: { name: 'test', continent: 'Europe', base_url: '', version: '0' },
      clock: { now: () => time },
    });
    return {
      said: cause ? `${outcome}, ${causeLayer(cause)}: ${causeSentence(cause)}` : outcome,
      next: next[0],
    };
  };

  const known: PingState = { ...noPings, terms: 3 };
  test.each<readonly [string, PingState | undefined, object, string]>([
    [
      'without a view of the bus',
      undefined,
      {},
      "unknown, probe: The probe's view of the bus was too old",
    ],
    [
      'under other terms than its own',
      { ...known, terms: 4 },
      {},
      "unknown, probe: The probe's view of the bus was too old",
    ],
    ['before its first beat', known, {}, 'unknown, probe: No heartbeat has come yet'],
    ['in time', { ...known, good: mark(50_000), latest: 'good' }, {}, 'ok'],
    ['in its grace', { ...known, good: mark(80_000), latest: 'good' }, {}, 'ok'],
    [
      'late',
      { ...known, good: mark(100_000), latest: 'good' },
      {},
      'fail, heartbeat: No heartbeat for 100 seconds (expected every minute)',
    ],
    [
      'failed',
      { ...known, bad: mark(5_000), latest: 'bad' },
      {},
      'fail, heartbeat: The job reported a failure',
    ],
    [
      'failed by its exit code',
      { ...known, bad: mark(5_000, 3), latest: 'bad' },
      {},
      'fail, heartbeat: The job ended with exit code 3',
    ],
    [
      'begun and never ended',
      { ...known, open: [{ rid: null, at: now - 31_000 }] },
      { max_run_s: 30 },
      'fail, heartbeat: The job started and did not end within 30 seconds',
    ],
  ])('%s', async (_, state, config, said) => {
    expect((await judged(state, config)).said).toBe(said);
  });

  test('with a cron schedule on a Node that cannot read one is unknown in words, and asked again; others are judged there', async () => {
    const state: PingState = { ...known, good: mark(50_000), latest: 'good' };
    const schedule = { schedule: '30 2 * * *', timezone: 'Europe/Berlin' };
    const unread =
      'unknown, probe: The probe runs on a Node older than 26, which cannot read a schedule';
    expect(await withoutTemporal(() => judged(state, schedule))).toEqual({
      said: unread,
      next: now + 60_000,
    });
    expect((await withoutTemporal(() => judged(state))).said).toBe('ok');
    expect((await judged(state, schedule)).said).toBe('ok');
  });

  test('whose view was unusable is judged again when there is one, and not at a time of its own', async () => {
    expect((await judged(undefined)).next).toBeNull();
    expect((await judged({ ...known, good: mark(50_000), latest: 'good' })).next).toBe(
      now + 40_000,
    );
  });

  test('whose deadline passed while the view was read is in time, and judged once more at its deadline', async () => {
    expect(await judged({ ...known, good: mark(89_900), latest: 'good' }, {}, 500)).toEqual({
      said: 'ok',
      next: now + 100,
    });
  });
});
