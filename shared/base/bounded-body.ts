/**
 * The first bytes of what comes in; the rest is read and dropped. undefined when it is longer than is bearable: then reading has ended, and
 * whoever sends must be cut off.
 */
export const readBounded = async (
  chunks: AsyncIterable<unknown>,
  { keep, most }: { readonly keep: number; readonly most: number },
): Promise<Uint8Array | undefined> => {
  const kept: Buffer[] = [];
  let held = 0;
  let total = 0;
  for await (const chunk of chunks) {
    if (!Buffer.isBuffer(chunk)) continue;
    total += chunk.length;
    if (total > most) return undefined;
    if (held >= keep) continue;
    const part = chunk.subarray(0, keep - held);
    kept.push(part);
    held += part.length;
  }
  return Buffer.concat(kept);
};
