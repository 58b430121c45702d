import type { CauseRow } from '../cause.ts';

export const heartbeatCauses = {} satisfies Record<string, CauseRow>;
