import { expect, test } from 'vitest';
import { causeLayer } from '../../../../shared/checks/causes.ts';
import fc from '../../../support/random.ts';
import { checkerOf } from '../../support/checkers.ts';
import { settings } from '../../support/frames.ts';
import { framesInPieces, nonsense } from '../../support/fuzzed-frames.ts';
import { readsAnyHealth } from '../../support/grpc.ts';
import { serveRaw } from '../../support/observations.ts';

/** A million bytes of nonsense into each reader, by themselves and over real sockets. */

const million = 1_000_000;

test('the reader of health throws at nothing', () => {
  fc.assert(readsAnyHealth, { numRuns: Math.ceil(million / 100) });
}, 120_000);

test('the watch of frames throws at nothing', () => {
  // Each run has some 300 bytes, in pieces and at once.
  fc.assert(framesInPieces, { numRuns: Math.ceil(million / 300) });
}, 120_000);

test.each([
  ['grpc', 'grpc://'],
  ['https', 'http://'],
] as const)(
  'a check by %s of a million bytes of frames always comes to an end, and takes no memory',
  async (kind, scheme) => {
    const check = checkerOf(kind);
    const all = fc.sample(nonsense, { numRuns: 2_000, seed: 45 });
    let nth = 0;
    let bytes = 0;
    const server = await serveRaw((socket) => {
      socket.on('error', () => undefined);
      const said = Buffer.concat([
        settings,
        ...(all[nth % all.length] ?? []),
        Buffer.alloc(300, nth),
      ]);
      nth += 1;
      bytes += said.length;
      for (let at = 0; at < said.length; at += 97) socket.write(said.subarray(at, at + 97));
      socket.end();
    });
    const before = process.memoryUsage().rss;
    while (bytes < million) {
      const verdicts = await Promise.all(
        Array.from({ length: 20 }, () => check(`${scheme}127.0.0.1:${server.port}`)),
      );
      for (const { outcome, cause } of verdicts) {
        expect(outcome).toBe('fail');
        expect(cause && causeLayer(cause)).toMatch(/^(?:tcp|http|assertion|timeout)$/);
      }
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1_048_576);
  },
  120_000,
);
