import { Refusal } from '../../shared/base/refusal.ts';

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
