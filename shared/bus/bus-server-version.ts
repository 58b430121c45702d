/** Which nats-servers may face the world. Pure. */

/** The first of each line without the holes that were told in 2026; a line that is not named is judged by the last one. */
const leastOfLine = { '2.11': 15, '2.12': 6 } as const;

/** As a person reads it. */
export const leastServers = '2.11.15 or 2.12.6';

export const isSafeServer = (version: string): boolean => {
  const [, major = '', minor = '', patch = ''] = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  if (major === '') return false;
  const line = `${major}.${minor}`;
  if (line === '2.11' || line === '2.12') return Number(patch) >= leastOfLine[line];
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) > 12);
};

const loopback = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/;

/** Whether everybody who can reach it is on this machine. @param urls each one address, or several with commas. */
export const isWithinMachine = (urls: readonly string[]): boolean =>
  urls
    .flatMap((url) => url.split(','))
    .every((url) => loopback.test(new URL(url.trim().replace(/^(?:nats|tls):/, 'http:')).hostname.replace(/^\[|\]$/g, '')));

/** What is wrong with the server behind these addresses, in words; undefined where nothing is. */
export const serverFault = (version: string, urls: readonly string[]): string | undefined =>
  isSafeServer(version) || isWithinMachine(urls)
    ? undefined
    : `The bus is nats-server ${version}, which has known holes and can be reached from other machines; it must be ${leastServers} or newer.`;
