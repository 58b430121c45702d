import { isRecord } from '../base/json.ts';
import { csvLine } from '../base/text.ts';
import type { Field, Shape } from './fields.ts';
import type { RestOperation } from './operation.ts';

export const csvType = 'text/csv';

/**
 * An answer as CSV: a line for each item of the operation's list, after what stands beside the list
 * once; undefined of an operation without. Columns are those of the contract.
 */
export function csvOf({ response, csv }: RestOperation, body: unknown): string | undefined {
  const shape = response?.shape;
  const lines = shape?.[csv ?? '']?.item?.shape;
  if (!shape || !lines || csv === undefined || !isRecord(body)) return undefined;
  const items = body[csv];
  const around = cellsOf(body, shape, (field) => !field.shape && !field.item);
  const rows = (Array.isArray(items) ? items : []).map((item: unknown) => [
    ...around,
    ...cellsOf(item, lines),
  ]);
  const columns = [...around, ...cellsOf({}, lines)].map(([column]) => column);
  return [columns, ...rows.map((row) => row.map(([, cell]) => cell))].map(csvLine).join('');
}

type Cell = readonly [column: string, cell: string];

/** The members of members are columns of their own. */
function cellsOf(
  from: unknown,
  shape: Shape,
  wanted: (field: Field<unknown>) => boolean = () => true,
): readonly Cell[] {
  return Object.entries(shape).flatMap(([key, field]): readonly Cell[] => {
    const value = isRecord(from) ? from[key] : undefined;
    if (!wanted(field)) return [];
    return field.shape ? cellsOf(value, field.shape) : [[key, String(value ?? '')]];
  });
}
