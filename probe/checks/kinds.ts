import type { Kind } from '../../shared/checks/kinds.ts';
import { createDnsCheck, type DnsDependencies } from './dns/perform.ts';
import { createDomainCheck, type DomainDependencies } from './domain/perform.ts';
import { createHeartbeatCheck, type HeartbeatDependencies } from './heartbeat.ts';
import { createHttpsCheck, type HttpsDependencies } from './https/perform.ts';
import type { Check } from './types.ts';

/** What each kind of check needs of the probe beyond its context. */
export type CheckDependencies = {
  readonly https: HttpsDependencies;
  readonly dns: DnsDependencies;
  readonly heartbeat: HeartbeatDependencies;
  readonly domain: DomainDependencies;
};

/** How each kind is checked. A new kind adds its row here. */
export const createChecks = (deps: CheckDependencies): Readonly<Record<Kind, Check>> => ({
  https: createHttpsCheck(deps.https),
  dns: createDnsCheck(deps.dns),
  heartbeat: createHeartbeatCheck(deps.heartbeat),
  domain: createDomainCheck(deps.domain),
});
