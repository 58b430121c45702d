import type { KindTarget } from '../kind-config.ts';

/** A heartbeat has no target: whatever was sent does nothing. */
export const heartbeatTarget: KindTarget = {
  fault: () => undefined,
  defaultName: () => undefined,
};
