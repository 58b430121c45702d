import type { PageLanguage } from '../../../domain/status-page.ts';
import type { Words } from './status-words.ts';
import { english } from './status-words-english.ts';
import { french } from './status-words-french.ts';
import { german } from './status-words-german.ts';
import { spanish } from './status-words-spanish.ts';

export const wordsOf: Readonly<Record<PageLanguage, Words>> = { en: english, de: german, fr: french, es: spanish };
