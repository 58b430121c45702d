/**
 * Whether a request that changes something comes from a page of ours. Browsers say where it comes from (Sec-Fetch-Site), but over plain HTTP only
 * to the machine itself; the origin they always name with a form that is posted. Who says neither is no browser, and has no session to misuse.
 */
export const isFromHere = (headers: Readonly<Record<string, string | readonly string[] | undefined>>, baseUrl: string): boolean => {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = headers;
  if (typeof origin !== 'string') return false;
  if (!URL.canParse(origin)) return false;
  return (URL.canParse(baseUrl) && origin === new URL(baseUrl).origin) || new URL(origin).host === host;
};
