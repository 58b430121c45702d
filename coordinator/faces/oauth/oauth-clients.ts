/** Who asks to be connected: a program of a stranger, whatever it says of itself. */

/** Schemes that belong to somebody, or run what they are given: nobody's program is behind them. */
const foreignSchemes = new Set(
  [
    ...['javascript', 'vbscript', 'data', 'blob', 'file', 'about', 'filesystem', 'view-source', 'chrome', 'edge', 'resource', 'jar'],
    ...['ftp', 'ws', 'wss', 'mailto', 'tel', 'sms', 'intent', 'content', 'ms-settings', 'shell', 'search-ms'],
  ].map((name) => `${name}:`),
);

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/** How a client is reached with the answer: at a site, on the machine of whoever asks, or by a scheme that a program there took for itself. */
export type Way = { readonly is: 'site' | 'machine' | 'program'; readonly host: string };

/** Undefined for where nothing is sent. */
export const wayTo = (redirect: unknown): Way | undefined => {
  if (typeof redirect !== 'string' || !/^[\x21-\x7e]{1,2000}$/.test(redirect)) return undefined;
  const url = URL.parse(redirect);
  if (url === null || url.username !== '' || url.password !== '' || redirect.includes('#')) return undefined;
  if (url.protocol === 'https:') return loopback.has(url.hostname) ? undefined : { is: 'site', host: url.host };
  if (url.protocol === 'http:') return loopback.has(url.hostname) ? { is: 'machine', host: url.hostname } : undefined;
  return foreignSchemes.has(url.protocol) ? undefined : { is: 'program', host: url.protocol.slice(0, -1) };
};

const mostRedirects = 20;

/** Why a client with these addresses to return to is not taken; undefined for one that is. */
export const redirectFault = (redirects: unknown): string | undefined => {
  if (!Array.isArray(redirects) || redirects.length === 0) return 'redirect_uris must name where to return to';
  if (redirects.length > mostRedirects) return `redirect_uris must not have more than ${mostRedirects} members`;
  return redirects.every((each) => wayTo(each) !== undefined)
    ? undefined
    : 'redirect_uris must be https, http to this machine itself (localhost, 127.0.0.1, [::1]), or a private scheme of a program';
};

const mostName = 60;

/** What people are shown of a client's name: one line of letters, without what turns or hides letters. */
export const nameShown = (name: unknown): string => {
  const text =
    typeof name === 'string'
      ? name
          .normalize('NFKC')
          .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
          .replaceAll(/\s+/g, ' ')
          .trim()
      : '';
  if (text === '') return 'An assistant without a name';
  const letters = [...text];
  return letters.length > mostName ? `${letters.slice(0, mostName - 1).join('')}…` : text;
};

/** What is kept of what a client says of itself; all else is the same for all of them, and decided here. */
const kept = ['client_id', 'client_name', 'client_id_issued_at', 'redirect_uris'];

/** Every client is a program on somebody's machine, as far as the rules go: no secret, a code alone, and loopback ports of its choice. */
export const keepOfClient = (metadata: object): void => {
  for (const name of Object.keys(metadata)) if (!kept.includes(name)) Reflect.deleteProperty(metadata, name);
  if ('client_name' in metadata) metadata.client_name = nameShown(metadata.client_name);
};
