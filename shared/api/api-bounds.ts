/** The fewest characters that an id takes in a list: 32 digits, two quotes, a comma. */
const shortestId = 35;

/** As many ids as a body has room for, where nothing else bounds a list of them: 64 KiB, or 2 MiB where many things may be named. */
export const mostIdsIn = {
  body: Math.floor((64 * 1024) / shortestId),
  largeBody: Math.floor((2 * 1024 * 1024) / shortestId),
} as const;
