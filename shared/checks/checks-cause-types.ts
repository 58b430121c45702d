/** In which layer a check failed (rule 2). Those below http count only if the probe vouches for itself. */
const layers = ['dns', 'tcp', 'tls', 'http', 'assertion', 'timeout', 'heartbeat', 'probe'] as const;
export type Layer = (typeof layers)[number];

/** Numbers and texts of our own or of the monitor's config that a sentence is built with; never text that a target sent. */
export type CauseParams = { readonly [name: string]: string | number };

export type Cause = { readonly class: string; readonly params: CauseParams };

/** One row of the closed list of causes: its layer, and the plain sentence that people read. */
export type CauseRow = { readonly layer: Layer; readonly sentence: (params: CauseParams) => string };
