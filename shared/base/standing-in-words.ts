/** How everything stands, in the words that pages and messages begin with. */
export type Standing = {
  readonly counts: {
    readonly all: number;
    readonly down: number;
    readonly verifying: number;
    readonly up: number;
    readonly maintenance: number;
    readonly pending: number;
    readonly paused: number;
  };
  /** The first few names of those that are down, and of those that are being verified. */
  readonly down: readonly string[];
  readonly verifying: readonly string[];
};

const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** A count as it is read in a sentence: small ones as words. */
export const countInWords = (count: number): string => words[count] ?? count.toLocaleString('en-GB');

/** `a`, `a and b`, `a, b and c`. */
export const listInWords = (parts: readonly string[]): string =>
  parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const be = (count: number): string => (count === 1 ? 'is' : 'are');

/** Long names would push the rest out of sight. */
const mostLetters = 40;
const short = (name: string): string => (name.length <= mostLetters ? name : `${name.slice(0, mostLetters - 1).trimEnd()}…`);

const named = (names: readonly string[], count: number): string =>
  names.length === count ? listInWords(names.map(short)) : `${capital(countInWords(count))} monitors`;

/** The one sentence that answers whether all is well. */
export const sentenceOf = ({ counts, down, verifying }: Standing): string => {
  const { all, up, maintenance, pending, paused } = counts;
  if (all === 0) return 'Nothing is watched yet.';
  if (counts.down > 0) return `${named(down, counts.down)} ${be(counts.down)} down.`;
  if (counts.verifying > 0) return `${named(verifying, counts.verifying)} ${be(counts.verifying)} being verified.`;
  if (paused === all) return 'Everything is paused.';
  if (up === 0) return pending > 0 ? 'Waiting for the first look.' : 'Everything is in maintenance.';
  if (pending > 0) return 'Everything that was looked at is up.';
  return maintenance + paused > 0 ? 'All that is watched is up.' : 'Everything is up.';
};

/** What else there is to know, behind it. */
export const restOf = ({ counts }: Standing): string => {
  const { all, up, maintenance, pending, paused } = counts;
  if (all === 0) return '';
  const parts = [
    counts.down > 0 && counts.verifying > 0 && `${countInWords(counts.verifying)} more ${be(counts.verifying)} being verified`,
    maintenance > 0 && `${countInWords(maintenance)} ${be(maintenance)} in maintenance`,
    pending > 0 && `${countInWords(pending)} ${pending === 1 ? 'waits' : 'wait'} to be looked at`,
    paused > 0 && paused < all && `${countInWords(paused)} ${be(paused)} paused`,
    up < all
      ? up > 0 && `${up.toLocaleString('en-GB')} of ${all.toLocaleString('en-GB')} are up`
      : all > 1 && `${countInWords(all)} monitors`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? '' : `${capital(listInWords(parts))}.`;
};
