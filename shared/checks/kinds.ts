/** The kinds of check. What a kind knows of its config, causes and evidence stands in the folder of its name. */
export const kinds = ['https', 'dns', 'heartbeat'] as const;
export type Kind = (typeof kinds)[number];

export const isKind = (text: unknown): text is Kind => kinds.some((kind) => kind === text);
