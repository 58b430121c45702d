/**
 * The kinds of check. Each kind's folder contains its config, causes and evidence. Probes check all
 * but heartbeats. The compiler names the tables that a new kind must join;
 * .github/CONTRIBUTING.md lists the rest.
 */
export const kinds = [
  'https',
  'dns',
  'tcp',
  'tls',
  'websocket',
  'grpc',
  'icmp',
  'heartbeat',
  'domain',
] as const;
export type Kind = (typeof kinds)[number];

/** What the first version's probes check. Which of the others a probe checks, it says itself. */
const firstKinds: readonly Kind[] = ['https', 'dns', 'heartbeat'];

/** Whether some probes may not check this kind. */
export function isForSome(kind: Kind): boolean {
  return !firstKinds.includes(kind);
}

export function isKind(text: unknown): text is Kind {
  return kinds.some((kind) => kind === text);
}

/** Whether one check more changes nothing at the target. */
export const isHarmless: Readonly<
  Record<Kind, (config: Readonly<Record<string, unknown>>) => boolean>
> = {
  https: ({ method }) => method === undefined || method === 'GET' || method === 'HEAD',
  dns: () => true,
  tcp: ({ send }) => send === undefined || send === null,
  tls: () => true,
  websocket: ({ send }) => send === undefined || send === null,
  grpc: () => true,
  heartbeat: () => false,
  domain: () => true,
  icmp: () => true,
};
