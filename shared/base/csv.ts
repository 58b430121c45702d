/** A cell that begins so is a formula for a table calculation, or becomes one. */
const formula = /^[=+\-@\t\r\n|%]|^\s+[=+\-@]/;

/** In quotes, always; what a table calculation would take for a formula begins with an apostrophe, which it reads as "this is text". */
const cell = (value: string): string => `"${(formula.test(value) ? `'${value}` : value).replaceAll('"', '""')}"`;

/** A line of a file of comma-separated values (RFC 4180), with its end. */
export const csvLine = (values: readonly string[]): string => `${values.map(cell).join(',')}\r\n`;
