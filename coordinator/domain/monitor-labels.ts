import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from './given-names.ts';

/** What people and programs put on a monitor to find it again; nothing is decided by it. */
export type Labels = { readonly external_id: string | null; readonly tags: readonly string[] };

export const noLabels: Labels = { external_id: null, tags: [] };

const mostTags = 20;
const longestTag = 50;
// With a comma, which stands between tags wherever people write several.
const unfit = /[,\s]/;

/** As names are, refused in words of its own. */
const oneLine = (text: string, refusal: (error: Refusal) => Refusal, key = 'external_id'): string => {
  try {
    return nameFrom(text, key);
  } catch (error) {
    throw error instanceof Refusal ? refusal(error) : error;
  }
};

/** One line of up to 200 characters; an empty one is none. @throws Refusal `external_id_invalid`. */
export const externalIdFrom = (text: string): string | null =>
  text.trim() === '' ? null : oneLine(text, (error) => new Refusal('external_id_invalid', error.message));

const noTag = (text: string): Refusal =>
  new Refusal(
    'tags_invalid',
    `tags: ${JSON.stringify(text.slice(0, longestTag))} is no tag; each is 1 to ${longestTag} characters without blanks and commas.`,
  );

const tagFrom = (text: string): string => {
  const tag = oneLine(text, () => noTag(text), 'tags').toLowerCase();
  if ([...tag].length > longestTag || unfit.test(tag)) throw noTag(tag);
  return tag;
};

/** In small letters, each once, in their order. @throws Refusal `tags_invalid`. */
export const tagsFrom = (given: readonly string[]): readonly string[] => {
  const tags = [...new Set(given.map(tagFrom))].toSorted();
  if (tags.length > mostTags) throw new Refusal('tags_invalid', `tags: there are ${tags.length}; ${mostTags} are the most.`);
  return tags;
};
