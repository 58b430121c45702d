import type { Readable } from 'node:stream';

/** The first bytes of what came in. `isWhole`: all of it was read; if not, whoever sends must be cut off once answered. */
export type BoundedBody = { readonly kept: Uint8Array; readonly isWhole: boolean };

/** Keeps the first bytes, reads and drops the rest, and leaves off where more comes than is bearable; the stream stays open for an answer. */
export const readBounded = async (
  body: Readable,
  { keep, most }: { readonly keep: number; readonly most: number },
): Promise<BoundedBody> => {
  const parts: Buffer[] = [];
  let held = 0;
  let total = 0;
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    total += chunk.length;
    if (held < keep) {
      const part = chunk.subarray(0, keep - held);
      parts.push(part);
      held += part.length;
    }
    if (total > most) break;
  }
  return { kept: Buffer.concat(parts), isWhole: total <= most };
};
