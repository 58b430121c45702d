import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

/** The first bytes of what came in, and whether that is all that was sent. */
type BoundedBody = { readonly kept: Uint8Array; readonly isWhole: boolean };

type Bounds = { readonly keep: number; readonly most: number; readonly patienceMs: number };

/**
 * Keeps the first bytes, reads and drops the rest, and leaves off where more comes than is bearable, later than there is patience for, or
 * nothing more because the sender went away; the stream stays open for an answer. Modes: `reading` → `done`.
 */
const readBounded = (body: Readable, { keep, most, patienceMs }: Bounds): Promise<BoundedBody> =>
  new Promise((resolve) => {
    const parts: Buffer[] = [];
    let held = 0;
    let total = 0;
    const done = (isWhole: boolean): void => {
      clearTimeout(timer);
      body.off('data', onData).off('end', onEnd).off('close', onCut).pause();
      // An error that follows is that of a sender who is cut off, and nobody waits for more.
      resolve({ kept: Buffer.concat(parts), isWhole });
    };
    const onData = (chunk: unknown): void => {
      if (!Buffer.isBuffer(chunk)) return;
      total += chunk.length;
      if (held < keep) {
        const part = chunk.subarray(0, keep - held);
        parts.push(part);
        held += part.length;
      }
      if (total > most) done(false);
    };
    const onEnd = (): void => done(true);
    const onCut = (): void => done(false);
    const timer = setTimeout(onCut, patienceMs);
    body.on('error', onCut).on('close', onCut).on('end', onEnd).on('data', onData);
    if (body.readableEnded || body.destroyed) done(body.readableEnded);
  });

/** Who sends what nobody wants has so long to come to its end and hear why; then he is cut off. */
const unwantedPatienceMs = 1_000;

/**
 * The body of a request, read only if somebody wants it, so that strangers hold nothing for long.
 * Modes: `left` → `read` or, once the answer is known, `dropped`.
 */
export const boundedBody = (request: IncomingMessage, bounds: Bounds) => {
  let reading: Promise<BoundedBody> | undefined;
  return {
    read: async (): Promise<Uint8Array> => {
      reading ??= readBounded(request, bounds);
      return (await reading).kept;
    },
    /** Before the answer goes out. False: there is more to come, and whoever sends must be cut off once answered. */
    finish: async (): Promise<boolean> => {
      if (reading) return (await reading).isWhole;
      if (request.complete) return true;
      const patienceMs = Math.min(bounds.patienceMs, unwantedPatienceMs);
      return (await readBounded(request, { ...bounds, keep: 0, patienceMs })).isWhole;
    },
  };
};
