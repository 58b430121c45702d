import type { Queryable } from './store-database.ts';

/**
 * A moment as text in UTC, "2026-11-20T10:00:00.123456" in JSON's quotes whatever the server's settings; no fraction when it is whole.
 * Making a Date of a text and a text of the Date would cost a quarter of a page of monitors.
 */
export const utcText = (sql: Queryable, column: string) => sql`to_json(${sql.unsafe(column)} at time zone 'UTC')::text`;

/** From that text: ISO with milliseconds and Z, as answers have it. */
export const isoOf = (text: string): string => `${text.slice(1, 20)}.${text.slice(21, -1).slice(0, 3).padEnd(3, '0')}Z`;
