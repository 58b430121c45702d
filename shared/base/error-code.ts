/** The code that the system, the database or a library gave to an error, such as ENOENT; `otherwise` where it has none. */
export const codeOf = (error: unknown, otherwise = ''): string =>
  error instanceof Error && 'code' in error ? String(error.code) : otherwise;
