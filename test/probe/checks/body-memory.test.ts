import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BodyMemory } from '../../../probe/checks/limits.ts';
import { httpsChecker } from '../support/checkers.ts';
import { serve, serveRaw } from '../support/observations.ts';

const mebi = 1_048_576;

describe('the memory of all bodies together', () => {
  test('is never more than there is, and whoever waits has his turn once others are over', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 10 }), { maxLength: 30 });
    fc.assert(
      fc.property(sizes, fc.array(fc.nat(), { maxLength: 60 }), (wholes, order) => {
        const memory = new BodyMemory(10);
        const granted: number[] = [];
        const open = wholes.map((whole, nth) => {
          const share = memory.share(whole);
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
    memory.share(1).allows(100_000, () => undefined);
    expect(memory.share(1).allows(65_536, () => undefined)).toBe(true);
    expect(memory.held).toBe(1);
  });
});

describe('long bodies that come at once', () => {
  const body = `${'x'.repeat(900_000)} the end`;

  test('are each judged whole, a few at a time', async () => {
    const memory = new BodyMemory(6 * mebi);
    let most = 0;
    const release = memory.give.bind(memory);
    memory.give = (share) => {
      most = Math.max(most, memory.held);
      release(share);
    };
    const target = await serve();
    target.answer({ is: 'status', status: 200, body });
    const check = httpsChecker({ memory });
    const verdicts = await Promise.all(
      Array.from({ length: 12 }, () => check(target.url(), { body_contains: 'the end' }, { timeout_ms: 20_000, evidence_wanted: false })),
    );
    expect(verdicts.map(({ outcome }) => outcome)).toEqual(verdicts.map(() => 'ok'));
    expect(most).toBe(6 * mebi);
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
    expect(await check(target.url(), { body_contains: 'the end' }, { timeout_ms: 500 })).toMatchObject({
      outcome: 'unknown',
      cause: { class: 'probe_held_up' },
    });
    expect(await holder).toMatchObject({ outcome: 'fail', cause: { class: 'timed_out' } });
    expect(memory.held).toBe(0);
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
