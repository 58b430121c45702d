import type { KindTarget } from '../kind-config.ts';

export const dnsTarget: KindTarget = {
  fault: (target) => (target.trim() === '' ? '`target` must be a domain name, such as example.com' : undefined),
  defaultName: (target) => target,
};
