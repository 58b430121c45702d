import { isRecord } from '../base/json-record.ts';
import { card } from './client-card.ts';
import type { Terminal } from './client-cells.ts';
import { withFields } from './client-chosen-fields.ts';
import { nextOf } from './client-next-page.ts';
import { table } from './client-table.ts';
import { harmless } from './client-terminal.ts';

export type { Terminal } from './client-cells.ts';

/** An answer of any operation; nothing for one without a body. */
export const render = (body: unknown, terminal: Terminal): string => {
  if (body === null || body === undefined) return '';
  if (!isRecord(body)) return `${JSON.stringify(body, null, 2)}\n`;
  if (!Array.isArray(body.items)) return card(terminal.fields ? Object(withFields(body, terminal.fields)) : body, terminal);
  const next = nextOf(body);
  const more = next === undefined ? '' : `\nThere are more: add --all, or --${next.key} ${harmless(next.value)}\n`;
  return `${table(body.items, terminal)}${more}`;
};
