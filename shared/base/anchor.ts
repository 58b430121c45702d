/** The coordinator's own address as an anchor: what probes reach when they reach it. Undefined for what is no address. */
export const anchorOf = (baseUrl: string): string | undefined => {
  const url = URL.parse(baseUrl);
  return url === null || url.hostname === '' ? undefined : `${url.hostname}:${url.port || (url.protocol === 'https:' ? 443 : 80)}`;
};
