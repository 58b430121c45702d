import type { Kind } from '../../shared/checks/kinds.ts';

const originOf = (target: string): string | undefined => {
  try {
    return new URL(target).origin;
  } catch {
    return undefined; // What is no address is refused as one, with its own words.
  }
};

/** Whether a stored secret of a monitor may go to another target of it: it belongs to its host, and never goes to another scheme, host or port. */
export const isSameHost = (kind: Kind, before: string, after: string): boolean => {
  if (kind !== 'https') return before === after;
  const origin = originOf(before.trim());
  return origin !== undefined && origin === originOf(after.trim());
};
