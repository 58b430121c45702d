import { describe, expect, test } from 'vitest';
import { causeLayer } from '../../../../shared/checks/causes.ts';
import fc from '../../../support/random.ts';
import { frame, opcodes, upgraded } from '../../../support/websocket-frames.ts';
import { checkerOf } from '../../support/checkers.ts';
import { serveHeads } from '../../support/websockets.ts';

/** A million bytes of nonsense into a websocket check, over real sockets. */

const million = 1_000_000;

const opcode = fc.constantFrom(...Object.values(opcodes), 3, 11);
/** What is near the truth goes deepest into a reader. */
const frames = fc
  .tuple(
    opcode,
    fc.uint8Array({ maxLength: 200 }),
    fc.record({
      fin: fc.boolean(),
      reserved: fc.constantFrom(0, 0, 0, 0, 1, 4),
      isMasked: fc.constantFrom(false, false, false, true),
      length: fc.constantFrom(undefined, undefined, undefined, 0, 125, 65_535, 2 ** 40),
    }),
  )
  .map(([code, payload, { length, ...how }]) =>
    frame(code, Buffer.from(payload), { ...how, ...(length === undefined ? {} : { length }) }),
  );
const conversations = fc
  .array(fc.oneof(frames, frames, fc.uint8Array({ maxLength: 100 })), { maxLength: 12 })
  .map((all) => Buffer.concat(all));
const heads = fc
  .tuple(
    fc.constantFrom(
      '',
      'HTTP/1.1 ',
      'HTTP/1.1 101 \r\n',
      'HTTP/1.1 102 P\r\n\r\nHTTP/1.1 403 F\r\n',
    ),
    fc.uint8Array({ maxLength: 300 }),
  )
  .map(([beginning, rest]) => Buffer.concat([Buffer.from(beginning), rest]));

describe.each([
  ['instead of a head', heads, (): string => ''],
  ['instead of messages', conversations, (head: string): string => upgraded(head)],
] as const)('a million bytes of nonsense %s', (_where, all, before) => {
  test.each([{}, { expect: 'never' }, { send: 'hello', expect: 'never', encoding: 'text' }])(
    'with %j always comes to an end, and takes no memory',
    async (config) => {
      const check = checkerOf('websocket');
      const samples = fc.sample(all, { numRuns: 2_000, seed: 44 });
      let nth = 0;
      let bytes = 0;
      const server = await serveHeads((socket, head) => {
        const said = samples[nth % samples.length] ?? Buffer.alloc(0);
        nth += 1;
        bytes += said.length + 400;
        const whole = Buffer.concat([
          Buffer.from(before(head), 'latin1'),
          said,
          Buffer.alloc(400, nth),
        ]);
        for (let at = 0; at < whole.length; at += 97) socket.write(whole.subarray(at, at + 97));
        socket.end();
      });
      const rss = process.memoryUsage.rss();
      while (bytes < million) {
        const verdicts = await Promise.all(
          Array.from({ length: 20 }, () => check(`ws://127.0.0.1:${server.port}/`, config)),
        );
        for (const { outcome, cause } of verdicts) {
          expect(['ok', 'fail']).toContain(outcome);
          if (cause) expect(causeLayer(cause)).toMatch(/^(?:tcp|http|assertion|timeout)$/);
        }
      }
      expect(process.memoryUsage.rss() - rss).toBeLessThan(200 * 1_048_576);
    },
    120_000,
  );
});
