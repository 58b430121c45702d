import { Refusal } from '../../shared/base/refusal.ts';
import { nameFrom } from './name.ts';

/** What people and programs put on a monitor to find it again; nothing is decided by it. */
export type Labels = { readonly external_id: string | null; readonly tags: readonly string[] };

export const noLabels: Labels = { external_id: null, tags: [] };

const mostTags = 20;
const longestTag = 50;
// With a comma, which stands between tags wherever people write several.
const unfit = /[,\s]/;

const saidBy = (text: string, code: 'external_id_invalid' | 'tags_invalid', key: string): string => {
  try {
    return nameFrom(text, key);
  } catch (error) {
    if (error instanceof Refusal) throw new Refusal(code, error.message);
    throw error;
  }
};

/** One line of up to 200 characters; an empty one is none. @throws Refusal `external_id_invalid`. */
export const externalIdFrom = (text: string): string | null =>
  text.trim() === '' ? null : saidBy(text, 'external_id_invalid', 'external_id');

/** In small letters, each once, in their order. @throws Refusal `tags_invalid`. */
export const tagsFrom = (given: readonly string[]): readonly string[] => {
  const tags = [...new Set(given.map((tag) => saidBy(tag, 'tags_invalid', 'tags').toLowerCase()))].toSorted();
  const refuse = (fault: string) => new Refusal('tags_invalid', `tags: ${fault}`);
  if (tags.length > mostTags) throw refuse(`there are ${tags.length}; ${mostTags} are the most.`);
  const wrong = tags.find((tag) => tag.length > longestTag || unfit.test(tag));
  if (wrong !== undefined)
    throw refuse(`"${wrong.slice(0, longestTag)}" is no tag; each is 1 to ${longestTag} characters without blanks and commas.`);
  return tags;
};
