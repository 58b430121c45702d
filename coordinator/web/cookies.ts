/** The value of a cookie that the browser sent back. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at !== -1 && pair.slice(0, at).trim() === name) return decoded(pair.slice(at + 1).trim());
  }
  return undefined;
}

const recentName = 'recent';
const maxRecent = 6;
const recentPath = /^\/(?:monitors|incidents)\/([0-9a-f-]{36})$/;

/** The ids of the last monitors and incidents that this browser opened, newest first. */
export function recentOf(header: string | undefined): readonly string[] {
  return (cookieOf(header, recentName) ?? '').split('.').filter((id) => id !== '');
}

/** The cookie that remembers a page; undefined for all other pages, and where nothing changes. */
export function recentCookie(
  path: string,
  header: string | undefined,
  secure: boolean,
): string | undefined {
  const [, id] = recentPath.exec(path) ?? [];
  const before = recentOf(header);
  if (id === undefined || before[0] === id) return undefined;
  const ids = [id, ...before.filter((each) => each !== id)].slice(0, maxRecent);
  return cookie(recentName, ids.join('.'), { secure });
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    // The value is not one that we set.
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/**
 * For the whole service, hidden from scripts, and not sent with other sites' forms. It lasts a year
 * unless stated otherwise; 0 removes it.
 */
export function cookie(
  name: string,
  value: string,
  { seconds = 31_536_000, secure }: { readonly seconds?: number; readonly secure: boolean },
): string {
  return `${name}=${encodeURIComponent(value)}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
}

/**
 * Whether a request that changes something comes from a page of ours. Browsers say where it comes
 * from (Sec-Fetch-Site), but over plain HTTP only to the machine itself; with a posted form they
 * always send the origin. A client that sends neither is no browser, and has no session to misuse.
 */
export function isFromHere(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  baseUrl: string,
): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = headers;
  if (typeof origin !== 'string') return false;
  if (!URL.canParse(origin)) return false;
  return (
    (URL.canParse(baseUrl) && origin === new URL(baseUrl).origin) || new URL(origin).host === host
  );
}

/**
 * The cookie of a session. The API accepts it as a parameter and ignores it, so that another site's
 * page cannot use it there.
 */
export const sessionCookie = 'svc_session';

/** Over https, no other host of our domain can set a cookie of this name. */
export function sessionCookieOf(isSecure: boolean): string {
  return isSecure ? `__Host-${sessionCookie}` : sessionCookie;
}
