import { expect } from 'vitest';
import { FrameWatch } from '../../../probe/checks/connection/frames.ts';
import fc from '../../support/random.ts';
import { frame, settings } from './frames.ts';

/** Frames of any kind, and what the watch makes of them. */

/** All of it in pieces of a size. */
export const watched = (whole: Buffer, size = whole.length) => {
  const watch = new FrameWatch();
  let passed = 0;
  for (let at = 0; at < whole.length; at += size)
    passed += watch.take(whole.subarray(at, at + size));
  const { fault, ending, isAnswered, beginning } = watch;
  return { fault, ending, isAnswered, beginning: beginning.toString('latin1'), passed };
};

export const nonsense = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc
      .tuple(fc.nat(10), fc.nat(255), fc.nat(2), fc.uint8Array({ maxLength: 60 }))
      .map(([type, flags, stream, payload]) => frame(type, flags, stream, Buffer.from(payload))),
  ),
  { maxLength: 20 },
);

/** For as many runs as a test has time for. */
export const framesInPieces = fc.property(
  nonsense,
  fc.integer({ min: 1, max: 30 }),
  (parts, size) => {
    const whole = Buffer.concat([settings, ...parts]);
    const { passed: _at, ...once } = watched(whole);
    const { passed, ...pieces } = watched(whole, size);
    expect(pieces).toEqual(once);
    expect(passed).toBeLessThanOrEqual(whole.length);
  },
);
