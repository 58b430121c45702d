/** Texts of results in memory, by their number, so that what is handed over at once is not read back from the disk. Bounded in bytes. */
export type SpoolTexts = {
  readonly keep: (seq: number, text: string) => void;
  readonly of: (seq: number) => string | undefined;
  readonly has: (seq: number) => boolean;
  readonly forget: (seq: number) => void;
  /** Forgets the oldest beyond the bound, but none from `firstUnsaved` on: memory is all that these are in. */
  readonly bound: (firstUnsaved: number) => void;
};

const mostBytes = 8 * 1024 * 1024;

export const createSpoolTexts = (): SpoolTexts => {
  const texts = new Map<number, string>();
  let bytes = 0;

  const forget = (seq: number): void => {
    const text = texts.get(seq);
    if (text === undefined) return;
    bytes -= text.length;
    texts.delete(seq);
  };

  return {
    forget,
    keep: (seq, text) => {
      texts.set(seq, text);
      bytes += text.length;
    },
    of: (seq) => texts.get(seq),
    has: (seq) => texts.has(seq),
    bound: (firstUnsaved) => {
      if (bytes <= mostBytes) return;
      for (const seq of texts.keys()) {
        if (bytes <= mostBytes || seq >= firstUnsaved) return;
        forget(seq);
      }
    },
  };
};
