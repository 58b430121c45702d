import type { CauseRow } from '../cause.ts';

export const httpsCauses = {} satisfies Record<string, CauseRow>;
