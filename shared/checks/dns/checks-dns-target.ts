import type { KindTarget } from '../checks-kind-config.ts';
import { questionName } from './checks-dns-name.ts';

/** The target of a DNS check is a name; for PTR records it may be the address whose name is asked for. */
export const dnsTarget: KindTarget = {
  fault: (target) => {
    const text = target.trim();
    if (/:\/\//.test(text)) return '`target` must be a name such as example.com, not an address of a page';
    if (questionName(text, 'PTR') === undefined) {
      return '`target` must be a domain name such as example.com (labels of at most 63 characters, 253 in all), or an IP address for PTR records';
    }
    return undefined;
  },
  defaultName: (target) => target.trim(),
};
