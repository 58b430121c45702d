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
const unwantedTimeoutMs = 1_000;

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
      const patienceMs = Math.min(bounds.patienceMs, unwantedTimeoutMs);
      return (await readBounded(request, { ...bounds, keep: 0, patienceMs })).isWhole;
    },
  };
};

/** A number of JavaScript keeps some sixteen digits; what a text says beyond that would be lost without a word. */

const token = /"(?:[^"\\]|\\.)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;
const wholeNumber = /^-?\d+$/;

/** Whether a number as written in JSON is another one when it is read: beyond all numbers, or a whole one with lost digits. Fractions are rounded by everybody. */
export const isLossy = (written: string): boolean => {
  const value = Number(written);
  if (!Number.isFinite(value)) return true;
  return wholeNumber.test(written) && !Number.isSafeInteger(value) && BigInt(value) !== BigInt(written);
};

/** The first number in a JSON text that would not be kept as it is written. */
export const lossyNumberIn = (text: string): string | undefined => {
  for (const [found] of text.matchAll(token)) if (!found.startsWith('"') && isLossy(found)) return found;
  return undefined;
};

/** A JSON object: neither null nor an array. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The member of this name; undefined where there is none, or nothing that could have members. */
export const memberOf = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined);
