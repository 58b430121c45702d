/** Stands for one letter, whichever it is; texts to search in have no control characters. */
export const anyLetter = '\u0001';

/** A shorter text is found in nearly everything, and a longer one is no word. */
const [fewestLetters, mostLetters] = [4, 30];

/**
 * A word, and where `typos` count, what was meant by it if one letter is wrong, missing or too many,
 * or two are swapped.
 */
export function formsOf(word: string, typos: boolean): readonly string[] {
  const letters = [...word];
  if (!typos || letters.length < fewestLetters || letters.length > mostLetters) return [word];
  const forms = letters.flatMap((letter, at) => {
    const [before, after] = [letters.slice(0, at), letters.slice(at + 1)];
    return [
      [...before, anyLetter, ...after],
      [...before, anyLetter, letter, ...after],
      [...before, ...after],
      [...before, ...after.slice(0, 1), letter, ...after.slice(1)],
    ];
  });
  return [
    word,
    ...forms.filter(({ length }) => length >= fewestLetters).map((each) => each.join('')),
  ];
}

/** Whether a text, without case and accents, has each of the words. */
export function hasAll(text: string, words: readonly string[], typos: boolean): boolean {
  return words.every((word) =>
    formsOf(word, typos).some((form) =>
      form.includes(anyLetter)
        ? new RegExp(form.split(anyLetter).map(RegExp.escape).join('.'), 'u').test(text)
        : text.includes(form),
    ),
  );
}
