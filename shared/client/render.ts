import { isRecord } from '../base/record.ts';
import { card } from './card.ts';
import type { Terminal } from './cells.ts';
import { withFields } from './chosen-fields.ts';
import { nextOf } from './pages.ts';
import { table } from './table.ts';
import { harmless } from './terminal.ts';

export type { Terminal } from './cells.ts';

/** An answer of any operation; nothing for one without a body. */
export const render = (body: unknown, terminal: Terminal): string => {
  if (body === null || body === undefined) return '';
  if (!isRecord(body)) return `${JSON.stringify(body, null, 2)}\n`;
  if (!Array.isArray(body.items)) return card(terminal.fields ? Object(withFields(body, terminal.fields)) : body, terminal);
  const next = nextOf(body);
  const more = next === undefined ? '' : `\nThere are more: add --all, or --${next.key} ${harmless(next.value)}\n`;
  return `${table(body.items, terminal)}${more}`;
};
