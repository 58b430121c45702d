import { isRecord } from '../base/json-record.ts';
import { dayOf, type Item, painted, plainText, type Terminal, timeOf, title, withState } from './client-cells.ts';
import { innerTable } from './client-table.ts';
import { harmless, padded, relative, widthOf, wrapped } from './client-terminal.ts';

/** A list's members, where they are short enough for a table: none holds a list of things itself. */
const flatItems = (items: readonly unknown[]): readonly Item[] | undefined => {
  const records = items.filter(isRecord);
  const isFlat = records.every((item) => !Object.values(item).some((value) => Array.isArray(value) && value.some(isRecord)));
  return isFlat && records.length === items.length ? records : undefined;
};

const cardLines = (item: Item, indent: string, terminal: Terminal, near: readonly string[] = []): string[] => {
  const { paint, now, columns } = terminal;
  const shown = withState(item);
  const width = Math.max(...Object.keys(shown).map((key) => widthOf(title(key))));
  const inner = columns - indent.length - 2;
  const days = [
    ...near,
    ...Object.values(shown)
      .filter((value) => timeOf(value) !== undefined)
      .map(dayOf),
  ];
  return Object.entries(shown).flatMap(([key, value]) => {
    const label = `${indent}${paint(padded(title(key), width), 'grey')}  `;
    if (isRecord(value) && !(typeof value.continent === 'string')) {
      return Object.keys(value).length === 0 ? [`${label}–`] : [label.trimEnd(), ...cardLines(value, `${indent}  `, terminal, days)];
    }
    if (Array.isArray(value) && value.some(isRecord)) {
      const flat = flatItems(value);
      const lines = flat
        ? innerTable(flat, { ...terminal, columns: inner }, new Set(days)).map((line) => `${indent}  ${line}`)
        : value.flatMap((one: unknown) =>
            isRecord(one)
              ? [`${indent}  -`, ...cardLines(one, `${indent}    `, terminal, days)]
              : [`${indent}  ${plainText('', one, now)}`],
          );
      return [label.trimEnd(), ...lines];
    }
    const time = timeOf(value);
    const list = Array.isArray(value) && value.length > 0 ? value.map((one) => plainText('', one, now)).join(', ') : undefined;
    const text = time === undefined ? (list ?? plainText(key, value, now)) : `${harmless(String(value))} (${relative(time, now)})`;
    const [first = '', ...more] = wrapped(text, Math.max(20, inner - width));
    return [`${label}${painted(key, first, paint)}`, ...more.map((line) => `${indent}${' '.repeat(width)}  ${line}`)];
  });
};

export const card = (item: Item, terminal: Terminal): string => `${cardLines(item, '', terminal).join('\n')}\n`;
