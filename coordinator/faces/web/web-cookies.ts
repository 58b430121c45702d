/** What a browser sent back of what was given to it. */
export const cookieOf = (header: string | undefined, name: string): string | undefined => {
  for (const pair of (header ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at !== -1 && pair.slice(0, at).trim() === name) return decoded(pair.slice(at + 1).trim());
  }
  return undefined;
};

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    // Not what we gave it.
    if (error instanceof URIError) return undefined;
    throw error;
  }
};

/** For the whole service, out of the reach of scripts, and not sent along by other sites' forms. A year, or as long as is said; 0 takes it back. */
export const cookie = (
  name: string,
  value: string,
  { seconds = 31_536_000, secure }: { readonly seconds?: number; readonly secure: boolean },
): string => `${name}=${encodeURIComponent(value)}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
