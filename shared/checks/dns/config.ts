import { everyKindsKeys, type KindConfig, keyFaults } from '../kind-config.ts';

export const dnsKeys = { ...everyKindsKeys };

export const dnsConfig: KindConfig = {
  keys: Object.keys(dnsKeys),
  faults: (config) => keyFaults(dnsKeys, config),
  secretPaths: () => [],
};
