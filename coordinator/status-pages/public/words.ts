import type { PageLanguage, PostKind } from '../model.ts';
import { formatsOf } from './formats.ts';
import { german } from './words/de.ts';
import { english } from './words/en.ts';
import { spanish } from './words/es.ts';
import { french } from './words/fr.ts';
import type { Words } from './words/types.ts';

export const wordsOf: Readonly<Record<PageLanguage, Words>> = {
  en: english,
  de: german,
  fr: french,
  es: spanish,
};

/** The suggested text of a post, in the language of its page. */
export function suggestedPost(
  language: PageLanguage,
  kind: PostKind,
  ...names: readonly string[]
): string {
  const words = wordsOf[language];
  const list = formatsOf(language, 'UTC', 0).list(names);
  return words.usual[kind](
    list.length > longestList ? words.services(names.length) : list,
    names.length,
  );
}

/** A post has at most 2,000 characters. */
const longestList = 1_500;
