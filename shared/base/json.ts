import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

/** The first bytes of a body, and whether they are all of it. */
type BoundedBody = { readonly kept: Uint8Array; readonly isWhole: boolean };

type Bounds = { readonly keep: number; readonly most: number; readonly patienceMs: number };

/**
 * How long a sender of an unwanted body may take to finish and receive the answer; then it is
 * disconnected.
 */
const unwantedTimeoutMs = 1_000;

/**
 * The body of a request, read only if someone wants it, so anonymous senders hold no memory for
 * long. Once the answer is known, the rest is dropped.
 */
export function boundedBody(request: IncomingMessage, bounds: Bounds) {
  let reading: Promise<BoundedBody> | undefined;
  return {
    read: async (): Promise<Uint8Array> => {
      reading ??= readBounded(request, bounds);
      return (await reading).kept;
    },
    /**
     * Runs before the answer is sent. False: there is more to come, and the sender must be
     * disconnected after the answer.
     */
    finish: async (): Promise<boolean> => {
      if (reading) return (await reading).isWhole;
      if (request.complete) return true;
      const patienceMs = Math.min(bounds.patienceMs, unwantedTimeoutMs);
      return (await readBounded(request, { ...bounds, keep: 0, patienceMs })).isWhole;
    },
  };
}

/**
 * Keeps the first bytes, and reads and drops the rest. It stops at the size limit, at the timeout,
 * or when the sender goes away; the stream stays open for an answer. Once the answer is known, the
 * rest is dropped.
 */
function readBounded(
  body: Readable,
  { keep, most: limit, patienceMs }: Bounds,
): Promise<BoundedBody> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let held = 0;
    let total = 0;
    const done = (isWhole: boolean): void => {
      clearTimeout(timer);
      body.off('data', onData).off('end', onEnd).off('close', onCut).pause();
      // A later error comes from a sender that is being disconnected, and no one waits for more.
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
      if (total > limit) done(false);
    };
    const onEnd = (): void => done(true);
    const onCut = (): void => done(false);
    const timer = setTimeout(onCut, patienceMs);
    body.on('error', onCut).on('close', onCut).on('end', onEnd).on('data', onData);
    if (body.readableEnded || body.destroyed) done(body.readableEnded);
  });
}

const token = /"(?:[^"\\]|\\.)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;
const wholeNumber = /^-?\d+$/;

/**
 * Whether reading a JSON number changes it: it is out of range, or a whole number that loses
 * digits. Rounding a fraction does not count.
 */
export function isLossy(written: string): boolean {
  const value = Number(written);
  if (!Number.isFinite(value)) return true;
  return (
    wholeNumber.test(written) && !Number.isSafeInteger(value) && BigInt(value) !== BigInt(written)
  );
}

/** The first number in a JSON text that would change when read. */
export function lossyNumberIn(text: string): string | undefined {
  for (const [found] of text.matchAll(token))
    if (!found.startsWith('"') && isLossy(found)) return found;
  return undefined;
}

/** A JSON object: neither null nor an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The member of this name; undefined where there is none, or for a value that cannot have members.
 */
export function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}
