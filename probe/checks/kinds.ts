import type { Kind } from '../../shared/checks/kinds.ts';
import { createDnsCheck, type DnsParts } from './dns/perform.ts';
import { createHeartbeatCheck, type HeartbeatParts } from './heartbeat.ts';
import { createHttpsCheck, type HttpsParts } from './https/perform.ts';
import { type ToldCheck, told } from './types.ts';

/** What each kind of check needs of the probe beyond its context. */
export type CheckParts = { readonly https: HttpsParts; readonly dns: DnsParts; readonly heartbeat: HeartbeatParts };

/** How each kind is checked: the one table of rows to add to. */
export const createChecks = (parts: CheckParts): Readonly<Record<Kind, ToldCheck>> => ({
  https: told(createHttpsCheck(parts.https)),
  dns: createDnsCheck(parts.dns),
  heartbeat: told(createHeartbeatCheck(parts.heartbeat)),
});
