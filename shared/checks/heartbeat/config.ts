import { everyKindsKeys, type KindConfig, keyFaults } from '../kind-config.ts';

export const heartbeatKeys = { ...everyKindsKeys };

export const heartbeatConfig: KindConfig = {
  keys: Object.keys(heartbeatKeys),
  faults: (config) => keyFaults(heartbeatKeys, config),
  secretPaths: () => [],
};
