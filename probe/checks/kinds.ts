import type { Kind } from '../../shared/checks/kinds.ts';
import type { ConnectionDependencies } from './connection/reach.ts';
import { createDnsCheck, type DnsDependencies } from './dns/perform.ts';
import { createDomainCheck, type DomainDependencies } from './domain/perform.ts';
import { createGrpcCheck } from './grpc/perform.ts';
import { createHeartbeatCheck, type HeartbeatDependencies } from './heartbeat.ts';
import { createHttpsCheck, type HttpsDependencies } from './https/perform.ts';
import { createIcmpCheck } from './icmp/perform.ts';
import type { Ping } from './icmp/ping.ts';
import { createTcpCheck } from './tcp/perform.ts';
import { createTlsCheck } from './tls/perform.ts';
import type { Check } from './types.ts';
import { createWebsocketCheck } from './websocket/perform.ts';

/** What each kind of check needs of the probe beyond its context. */
export type CheckDependencies = {
  /** For every kind that connects. */
  readonly connection: ConnectionDependencies;
  readonly https: Omit<HttpsDependencies, keyof ConnectionDependencies>;
  readonly dns: DnsDependencies;
  readonly heartbeat: HeartbeatDependencies;
  readonly domain: DomainDependencies;
  readonly ping: Ping;
};

/** How each kind is checked. A new kind adds its row here. */
export function createChecks(deps: CheckDependencies): Readonly<Record<Kind, Check>> {
  return {
    https: createHttpsCheck({ ...deps.connection, ...deps.https }),
    dns: createDnsCheck(deps.dns),
    tcp: createTcpCheck(deps.connection),
    tls: createTlsCheck(deps.connection),
    websocket: createWebsocketCheck(deps.connection),
    grpc: createGrpcCheck(deps.connection),
    heartbeat: createHeartbeatCheck(deps.heartbeat),
    domain: createDomainCheck(deps.domain),
    icmp: createIcmpCheck({ ...deps.connection, ping: deps.ping }),
  };
}
