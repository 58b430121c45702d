import { createDigest, type Digest, type Element } from '../../shared/checks/assignment.ts';

/** The digest of a set as it is now, made in one go. */
export const digestOf = (elements: Iterable<Element>): Digest => {
  const digest = createDigest();
  for (const element of elements) digest.add(element);
  return digest;
};
