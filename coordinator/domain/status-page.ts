import { Refusal } from '../../shared/base/errors.ts';

/** The languages of a public page's own words. */
export const pageLanguages = ['en', 'de', 'fr', 'es'] as const;
export type PageLanguage = (typeof pageLanguages)[number];

/** Who may see a page: everybody, whoever has its password, whoever has its link. */
export const pageAccesses = ['public', 'password', 'link'] as const;
export type PageAccess = (typeof pageAccesses)[number];

/** What a post on a page says of its incident, in the order in which it usually goes. */
export const postKinds = ['investigating', 'identified', 'monitoring', 'resolved'] as const;
export type PostKind = (typeof postKinds)[number];

/** The last part of a page's address: small letters, digits and single dashes, 1 to 60. @throws Refusal `slug_invalid`. */
export const slugFrom = (text: string): string => {
  const slug = text.trim().toLowerCase();
  if (slug.length <= 60 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(slug)) return slug;
  throw new Refusal('slug_invalid', 'slug: use 1 to 60 small letters, digits and dashes between them, such as "shop-status".');
};

/** A place that a row on a page may be given; rows of the same place stand in the order in which they were added. */
const highestPosition = 1_000_000;

/** @throws Refusal `position_invalid`. */
export const positionFrom = (position: number): number => {
  if (position >= 0 && position <= highestPosition) return position;
  throw new Refusal('position_invalid', `position: must be from 0 to ${highestPosition}.`);
};

/** The password of a page is told to many, so that it is no account's. @throws Refusal `password_invalid`. */
export const pagePasswordFrom = (text: string): string => {
  if (text.length >= 8 && text.length <= 200) return text;
  throw new Refusal('password_invalid', 'password: give one of 8 to 200 characters.');
};

/** The whole order of a page's rows: each of them once, and nothing else. @throws Refusal `order_invalid`. */
export const orderFrom = (given: readonly string[], present: readonly string[]): readonly string[] => {
  const refuse = (fault: string) => new Refusal('order_invalid', `rows: ${fault} Read the page again, and send every row once.`);
  if (new Set(given).size !== given.length) throw refuse('names a row twice.');
  if (given.length !== present.length) throw refuse(`names ${given.length} rows, and the page has ${present.length}.`);
  const known = new Set(present);
  const stranger = given.find((id) => !known.has(id));
  if (stranger !== undefined) throw refuse(`${stranger} is not on the page.`);
  return given;
};
