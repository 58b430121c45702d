import type { PageLanguage, PostKind } from '../model.ts';
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
export function suggestedPost(language: PageLanguage, kind: PostKind, name: string): string {
  return wordsOf[language].usual[kind](name);
}
