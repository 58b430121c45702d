import { describe, expect, test } from 'vitest';
import { causeLayer } from '../../../../shared/checks/causes.ts';
import { banners, upgrades } from '../../../../shared/checks/tcp/keys.ts';
import fc from '../../../support/random.ts';
import { checkerOf } from '../../support/checkers.ts';
import { readsAnything, words } from '../../support/fuzzed-greetings.ts';
import { serveRaw } from '../../support/observations.ts';

/** A million bytes of nonsense into each reader, by themselves and over real sockets. */

const million = 1_000_000;

test('readers throw at nothing', () => {
  // Each run has some 150 bytes for every reader, in pieces and at once.
  fc.assert(readsAnything, { numRuns: Math.ceil(million / 150) });
}, 120_000);

describe('a check over a socket', () => {
  const check = checkerOf('tcp');
  const configs = [
    ...banners.map((banner) => ({ banner })),
    ...upgrades.map((tls) => ({ tls })),
    { tls: 'implicit' },
    { send: 'PING', expect: 'never' },
  ];

  test.each(configs)(
    '%j of a million bytes of nonsense always comes to an end, and takes no memory',
    async (config) => {
      const all = fc.sample(words, { numRuns: 2_000, seed: 44 });
      let nth = 0;
      const server = await serveRaw((socket) => {
        const said = Buffer.concat([
          all[nth % all.length] ?? Buffer.alloc(0),
          Buffer.alloc(400, nth),
        ]);
        nth += 1;
        for (let at = 0; at < said.length; at += 97) socket.write(said.subarray(at, at + 97));
        socket.end();
      });
      let bytes = 0;
      const before = process.memoryUsage().rss;
      while (bytes < million) {
        const verdicts = await Promise.all(
          Array.from({ length: 20 }, () => check(`127.0.0.1:${server.port}`, config)),
        );
        bytes += 20 * 500;
        for (const { outcome, cause } of verdicts) {
          expect(['ok', 'fail']).toContain(outcome);
          if (cause) expect(causeLayer(cause)).toMatch(/^(?:tcp|tls|assertion|timeout)$/);
        }
      }
      expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1_048_576);
    },
    120_000,
  );
});
