/** A JSON object: neither null nor an array. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The member of this name; undefined where there is none, or nothing that could have members. */
export const memberOf = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined);
