import type { PublicPage } from '../../domain/public-page.ts';
import type { PageLanguage } from '../../domain/status-page.ts';
import { type Formats, formatsOf } from './status-face-formats.ts';
import type { Words } from './words/status-words.ts';
import { wordsOf } from './words/status-words-of-language.ts';

/** A page as one reader sees it: in a language, under an address. */
export type View = {
  readonly page: PublicPage;
  readonly language: PageLanguage;
  readonly words: Words;
  readonly formats: Formats;
  /** What paths begin with: `/status/shop`, or nothing on a domain of its own. */
  readonly root: string;
  /** With scheme and host, for feeds and badges: from BASE_URL or the proved domain. */
  readonly origin: string;
  /** Newer figures could not be read. */
  readonly isStale: boolean;
  readonly hasMail: boolean;
  /** Where the service tells how well it does, if it tells everyone. */
  readonly aboutUs?: string | undefined;
};

export type Seen = Pick<View, 'root' | 'origin' | 'isStale' | 'hasMail' | 'aboutUs'> & { readonly language?: PageLanguage | undefined };

export const viewOf = (page: PublicPage, { language = page.language, ...seen }: Seen): View => ({
  ...{ ...seen, page, language, words: wordsOf[language] },
  formats: formatsOf(language, page.zone, page.now),
});

/** A path of this page, in the language that was chosen. */
export const pathOf = ({ root, language, page }: View, rest = ''): string => {
  const path = `${root}${rest}` || '/';
  return language === page.language ? path : `${path}?lang=${language}`;
};
