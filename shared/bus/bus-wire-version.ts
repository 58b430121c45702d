/** Of every message on the bus (`v`). What only adds a key needs no other: unknown keys are dropped. Batches of results have a number of their own. */
export const wireVersion = 1;
