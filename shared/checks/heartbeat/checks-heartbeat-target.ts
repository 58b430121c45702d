import type { KindTarget } from '../checks-kind-config.ts';

/** A heartbeat watches no address; a target is a remark of the user's (which machine, which job) and decides nothing. */
export const heartbeatTarget: KindTarget = {
  fault: () => undefined,
  defaultName: () => undefined,
};
