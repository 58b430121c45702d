/** What people read: a line for each member of an object, lists of objects as blocks; long texts and secrets as they are. */
import { isRecord } from '../../shared/base/record.ts';

const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const lines = (record: Readonly<Record<string, unknown>>, indent: string): string[] => {
  const width = Math.max(0, ...Object.keys(record).map((key) => key.length));
  return Object.entries(record).flatMap(([key, value]) => {
    if (Array.isArray(value) && value.some(isRecord))
      return [
        `${indent}${key}`,
        ...value.flatMap((item) => ['', ...(isRecord(item) ? lines(item, `${indent}  `) : [`${indent}  ${plain(item)}`])]),
      ];
    const text = plain(value);
    return text.includes('\n') ? [`${indent}${key}`, text] : [`${indent}${key.padEnd(width)}  ${text}`];
  });
};

export const asText = (result: unknown): string => (isRecord(result) ? lines(result, '').join('\n') : plain(result));
