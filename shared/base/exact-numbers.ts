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
