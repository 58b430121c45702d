import type { KindTarget } from './checks-kind-config.ts';
import type { Kind } from './checks-kinds.ts';
import { dnsTarget } from './dns/checks-dns-target.ts';
import { heartbeatTarget } from './heartbeat/checks-heartbeat-target.ts';
import { httpsTarget } from './https/checks-https-target.ts';

const byKind: Readonly<Record<Kind, KindTarget>> = { https: httpsTarget, dns: dnsTarget, heartbeat: heartbeatTarget };

const mostCharacters = 2_048;

/** What is wrong with a target for this kind of check, and what would do; undefined when nothing is. */
export const targetFault = (kind: Kind, target: string): string | undefined =>
  target.length > mostCharacters ? `\`target\` must have at most ${mostCharacters} characters` : byKind[kind].fault(target);

/** The name of a monitor that nobody named; undefined where a name must be given. */
export const defaultName = (kind: Kind, target: string): string | undefined => byKind[kind].defaultName(target)?.slice(0, 200);
