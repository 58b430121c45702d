/**
 * The kinds of check. Each kind's folder contains its config, causes and evidence. Probes check all
 * but heartbeats. The compiler names the tables that a new kind must join;
 * .github/CONTRIBUTING.md lists the rest.
 */
export const kinds = ['https', 'dns', 'heartbeat', 'domain'] as const;
export type Kind = (typeof kinds)[number];

export const isKind = (text: unknown): text is Kind => kinds.some((kind) => kind === text);
