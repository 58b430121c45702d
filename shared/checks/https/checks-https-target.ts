import { domainToUnicode } from 'node:url';
import type { KindTarget } from '../checks-kind-config.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for; URL would drop them silently.
const strange = /[\u0000-\u0020\u007f]/;

const example = 'such as https://example.com/health';

/** The address of an https check, if its target is one that can be checked. */
export const httpsUrl = (target: string): URL | undefined => {
  if (strange.test(target) || !/^https?:\/\/[^/\\?#]/i.test(target)) return undefined;
  const url = URL.parse(target);
  return url && url.hostname !== '' && url.port !== '0' ? url : undefined;
};

/** Whether the domain name system could hold a host at all; addresses in brackets are not names. */
const isTooLong = (host: string): boolean =>
  !host.startsWith('[') && (host.replace(/\.$/, '').length > 253 || host.split('.').some((label) => label.length > 63));

export const httpsTarget: KindTarget = {
  fault: (target) => {
    if (strange.test(target)) return '`target` must not contain blanks or control characters; encode them with %';
    const url = httpsUrl(target);
    if (!url) return `\`target\` must be a whole http:// or https:// address, ${example}`;
    if (url.username !== '' || url.password !== '') return '`target` must not contain a user name or password; give them as `basic_auth`';
    if (isTooLong(url.hostname)) return '`target` must name a host of at most 253 characters, and 63 between two dots';
    return undefined;
  },
  // As people write it: what the address has is the form of the name system.
  defaultName: (target) => {
    const url = httpsUrl(target);
    return url && (domainToUnicode(url.hostname) || url.hostname) + (url.port === '' ? '' : `:${url.port}`);
  },
};
