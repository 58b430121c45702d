import type { CauseRow } from '../cause.ts';

export const dnsCauses = {} satisfies Record<string, CauseRow>;
