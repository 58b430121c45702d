/** The kinds of check. Each kind's folder contains its config, causes and evidence. */
export const kinds = ['https', 'dns', 'heartbeat'] as const;
export type Kind = (typeof kinds)[number];

export const isKind = (text: unknown): text is Kind => kinds.some((kind) => kind === text);
