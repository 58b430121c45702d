import fc from './random.ts';

/**
 * What goes deep into a reader: the truth with some of its bytes changed, doubled or left out, and
 * noise behind it.
 */
export const spoiled = (truths: readonly (string | Buffer)[]): fc.Arbitrary<Buffer> =>
  fc
    .tuple(
      fc.constantFrom(...truths),
      fc.array(
        fc.record({
          at: fc.nat(),
          how: fc.constantFrom('change', 'double', 'leave out'),
          length: fc.integer({ min: 1, max: 40 }),
          to: fc.uint8Array({ minLength: 1, maxLength: 4 }),
        }),
        { maxLength: 6 },
      ),
      fc.uint8Array({ maxLength: 100 }),
    )
    .map(([truth, changes, noise]) => {
      let bytes = Buffer.from(truth);
      for (const { at, how, length, to } of changes) {
        const from = at % (bytes.length + 1);
        const until = how === 'change' ? from + to.length : from + length;
        const middle = how === 'change' ? to : how === 'double' ? bytes.subarray(from, until) : [];
        const rest = bytes.subarray(how === 'double' ? from : until);
        bytes = Buffer.concat([bytes.subarray(0, from), Buffer.from(middle), rest]);
      }
      return Buffer.concat([bytes, noise]);
    });

const million = 1_000_000;

/** Reads a million bytes and more of it. @throws what the reader throws, with what it was given. */
export const readMillion = (words: fc.Arbitrary<Buffer>, read: (bytes: Buffer) => void): void => {
  const before = process.memoryUsage().rss;
  let bytes = 0;
  while (bytes < million)
    fc.assert(
      fc.property(words, (one) => {
        bytes += one.length;
        read(one);
      }),
      { numRuns: 1_000, endOnFailure: true },
    );
  const grown = (process.memoryUsage().rss - before) / 1_048_576;
  if (grown > 200) throw new Error(`reading took ${grown.toFixed(0)} MiB`);
};
