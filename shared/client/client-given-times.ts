import { commandName, UsageFault } from '../base/command-line.ts';
import type { Line } from './client-arguments.ts';
import type { Command } from './client-commands.ts';

const sizes: Readonly<Record<string, number>> = { s: 1000, min: 60_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const span = /^(\d{1,6})\s*(s|min|m|h|d|w)$/;

const lengthOf = (text: string): number | undefined => {
  const [, count = '', unit = ''] = span.exec(text) ?? [];
  const size = sizes[unit];
  return size === undefined ? undefined : Number(count) * size;
};

const instant = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** `now`, `+10m`, `-1h`: the moment that it means; anything else goes to the service as it stands. */
const momentOf = (text: string, now: number): string => {
  if (text === 'now') return instant(now);
  const length = /^[+-]/.test(text) ? lengthOf(text.slice(1)) : undefined;
  return length === undefined ? text : instant(text.startsWith('-') ? now - length : now + length);
};

const isTime = (key: string): boolean => /_at$|^(from|to|since|until)$/.test(key);

/** A local time has no offset, and the sum is one as well: the service reads both by one clock. */
const later = (start: string, length: number): string => {
  const isLocal = !/(Z|[+-]\d\d:?\d\d)$/i.test(start);
  const at = Date.parse(isLocal ? `${start}Z` : start);
  if (Number.isNaN(at)) throw new UsageFault(`--for needs a start that is a time such as 2027-01-01T02:00, now or +10m, not "${start}".`);
  return isLocal ? instant(at + length).slice(0, -1) : instant(at + length);
};

/** The line with its times as the service takes them; `--for 10m` is the end of what begins at --starts-at, or now. */
export const withTimes = (command: Command, line: Line, now: number): Line => {
  const timed = new Set(command.flags.filter(({ key, kind }) => kind === 'text' && isTime(key)).flatMap(({ key, name }) => [key, name]));
  const flags = line.flags.map((flag) =>
    flag.value !== undefined && timed.has(flag.name) ? { ...flag, value: momentOf(flag.value, now) } : flag,
  );
  const { lasting } = line;
  if (lasting === undefined) return { ...line, flags };
  const lasts = ['starts_at', 'ends_at'].every((key) => command.flags.some((flag) => flag.key === key));
  if (!lasts) throw new UsageFault(`${commandName(command)} has no beginning and end: --for has no meaning there.`);
  const length = lengthOf(lasting);
  if (length === undefined || length === 0) throw new UsageFault(`--for takes a length such as 10m, 2h or 1d, not "${lasting}".`);
  const has = (key: string) => flags.find(({ name }) => name.replaceAll('-', '_') === key);
  if (has('ends_at')) throw new UsageFault('--for and --ends-at both say when it ends: leave one out.');
  const given = has('starts_at');
  if (!given && command.operation.method === 'PATCH')
    throw new UsageFault('--for counts from --starts-at, which must be given when a window is changed.');
  const start = given?.value ?? instant(now);
  const begins = given ? [] : [{ name: 'starts-at', value: start }];
  return { ...line, flags: [...flags, ...begins, { name: 'ends-at', value: later(start, length) }] };
};
