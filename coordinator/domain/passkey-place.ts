/** Where passkeys are for: browsers bind them to a host with a name, and offer them only where nobody can listen in. */
export type PasskeyPlace = { readonly host: string; readonly origin: string };

/** Null where there can be none. On the machine itself the name is `localhost`, as its number cannot be one. */
export const passkeyPlace = (baseUrl: string): PasskeyPlace | null => {
  if (!URL.canParse(baseUrl)) return null;
  const url = new URL(baseUrl);
  if (url.hostname === '127.0.0.1' || url.hostname === '[::1]') url.hostname = 'localhost';
  const { protocol, hostname: host, origin } = url;
  if (host === 'localhost' || host.endsWith('.localhost')) return { host, origin };
  const isNumber = host.startsWith('[') || /^[\d.]+$/.test(host);
  return protocol === 'https:' && !isNumber ? { host, origin } : null;
};
