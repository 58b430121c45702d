import type { Readable } from 'node:stream';

/** The first bytes of what came in. `isWhole`: all of it was read; if not, whoever sends must be cut off once answered. */
export type BoundedBody = { readonly kept: Uint8Array; readonly isWhole: boolean };

/**
 * Keeps the first bytes, reads and drops the rest, and leaves off where more comes than is bearable, later than there is patience for, or
 * nothing more because the sender went away; the stream stays open for an answer. Modes: `reading` → `done`.
 */
export const readBounded = (
  body: Readable,
  { keep, most, patienceMs }: { readonly keep: number; readonly most: number; readonly patienceMs: number },
): Promise<BoundedBody> =>
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
