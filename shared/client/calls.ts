import { commandName, UsageFault } from '../base/env.ts';
import { isRecord, memberOf } from '../base/json.ts';
import { alone, checkRequired, flag, type Given, inputOf, setDeep } from './arguments.ts';
import type { Command } from './commands.ts';
import type { Call } from './http.ts';

/** From the words and flags of a command to its calls of the API. */

/** Flags of the program itself, the same for every command. */
export const everywhere = [
  flag(
    'fields',
    'only these fields, as name,config.timeout_ms; on a terminal they are the columns',
    { placeholder: 'A,B' },
  ),
  flag('for', 'the length of a window, from --starts-at or from now (s, m, h, d, w)', {
    placeholder: '10m',
  }),
  flag('json', 'one JSON document as the API gives it (the default when piped)', alone),
  flag('csv', 'a report as CSV', alone),
  flag('all', 'walk all pages of a list into one document', alone),
  flag('yes', 'delete a monitor or a probe without asking; needed where no one can answer', alone),
  flag('no-color', 'no colours (NO_COLOR does the same)', { ...alone, key: 'no-colour' }),
  flag('help', 'what a command takes, with an example', alone),
  flag('version', 'the version of this client', alone),
];

export type CommandCall = Call & {
  /**
   * Values to set in objects that are not given whole: the objects must be read first, or their
   * other keys would be lost.
   */
  readonly amendments?: readonly Given[];
};

export function callOf(
  command: Command,
  rest: readonly string[],
  values: readonly Given[],
): CommandCall {
  const { operation, positionals } = command;
  const name = commandName(command);
  const lacking = positionals.slice(rest.length).map(({ shown }) => shown);
  if (lacking.length > 0) throw new UsageFault(`${name} needs ${lacking.join(' and ')}.`);
  if (rest.length > positionals.length)
    throw new UsageFault(`${name} does not take "${rest[positionals.length]}".`);
  let path = operation.path;
  for (const [index, { name: param, shown }] of positionals.entries()) {
    const id = rest[index] ?? '';
    // Dots would climb out of the path and make it another call, possibly one that deletes.
    if (/^\.{0,2}$/.test(id)) throw new UsageFault(`${name} needs ${shown}; "${id}" is none.`);
    path = path.replace(`{${param}}`, () => encodeURIComponent(id));
  }
  // When an object is given whole, or created, dotted flags set values in it. When an existing one
  // is changed, the rest of it stays.
  const isWhole = (key: string): boolean =>
    values.some((one) => one.flag.key === key && one.inner.length === 0);
  const amendments = values.filter(
    (one) => operation.method === 'PATCH' && one.inner.length > 0 && !isWhole(one.flag.key),
  );
  const input = inputOf(values.filter((one) => !amendments.includes(one)));
  checkRequired(command, input);
  const among = (fields: object) =>
    Object.entries(input).filter(([key]) => Object.hasOwn(fields, key));
  return {
    method: operation.method,
    path,
    query: Object.fromEntries(among(operation.query).map(([key, value]) => [key, String(value)])),
    ...(Object.keys(operation.body).length > 0 && {
      body: Object.fromEntries(among(operation.body)),
    }),
    ...(amendments.length > 0 && { amendments }),
  };
}

/**
 * The call with its amendments applied to `now`, the present state. A secret comes back as `***`
 * and is sent back as that, which leaves it unchanged.
 */
export function amendedCall({ amendments = [], ...call }: CommandCall, now: unknown): Call {
  const body: Record<string, unknown> = { ...(isRecord(call.body) && call.body) };
  for (const {
    flag: { key },
    inner,
    value,
  } of amendments) {
    if (!Object.hasOwn(body, key)) body[key] = structuredClone(memberOf(now, key));
    setDeep(body, [key, ...inner], value);
  }
  return { ...call, body };
}

/**
 * The values with times in the service's form; `--for 10m` is the end of what begins at
 * --starts-at, or now.
 */
export function withTimes(
  command: Command,
  values: readonly Given[],
  now: number,
): readonly Given[] {
  const timed = values.map((one) =>
    typeof one.value === 'string' && isTime(one.flag.key)
      ? { ...one, value: momentOf(one.value, now) }
      : one,
  );
  const find = (key: string) => timed.find((one) => one.flag.key === key)?.value;
  const lasting = find('for');
  if (lasting === undefined) return timed;
  const [begin, end] = ['starts_at', 'ends_at'].map((key) =>
    command.flags.find((one) => one.key === key),
  );
  if (!begin || !end)
    throw new UsageFault(
      `${commandName(command)} has no beginning and end: --for has no meaning there.`,
    );
  const length = lengthOf(String(lasting));
  if (length === undefined || length === 0)
    throw new UsageFault(`--for takes a length such as 10m, 2h or 1d, not "${lasting}".`);
  if (find('ends_at') !== undefined)
    throw new UsageFault('--for and --ends-at both say when it ends: leave one out.');
  const given = find('starts_at');
  if (given === undefined && command.operation.method === 'PATCH')
    throw new UsageFault(
      '--for counts from --starts-at, which must be given when a window is changed.',
    );
  const start = given === undefined ? instant(now) : String(given);
  const begins = given === undefined ? [{ flag: begin, inner: [], value: start }] : [];
  return [...timed, ...begins, { flag: end, inner: [], value: later(start, length) }];
}

function isTime(key: string): boolean {
  return /_at$|^(from|to|since|until)$/.test(key);
}

const sizes: Readonly<Record<string, number>> = {
  s: 1000,
  min: 60_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

function lengthOf(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,6})\s*(s|min|m|h|d|w)$/.exec(text) ?? [];
  const size = sizes[unit];
  return size === undefined ? undefined : Number(count) * size;
}

function instant(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** `now`, `+10m`, `-1h` as a time; anything else is sent unchanged. */
function momentOf(text: string, now: number): string {
  if (text === 'now') return instant(now);
  const length = /^[+-]/.test(text) ? lengthOf(text.slice(1)) : undefined;
  return length === undefined ? text : instant(text.startsWith('-') ? now - length : now + length);
}

/**
 * A local time has no offset, and neither has the sum: the service reads both in the same time
 * zone.
 */
function later(start: string, length: number): string {
  const isLocal = !/(Z|[+-]\d\d:?\d\d)$/i.test(start);
  const at = Date.parse(isLocal ? `${start}Z` : start);
  if (Number.isNaN(at))
    throw new UsageFault(
      `--for needs a start that is a time such as 2027-01-01T02:00, now or +10m, not "${start}".`,
    );
  return isLocal ? instant(at + length).slice(0, -1) : instant(at + length);
}

/** The service's limit for one call. */
export const maxInCall = 500;

/**
 * Bodies within the service's limit, to send in sequence. "All or none" can only be promised within
 * one call.
 */
export function partsOf(body: unknown): readonly unknown[] {
  const items = memberOf(body, 'items');
  if (!isRecord(body) || !Array.isArray(items) || items.length <= maxInCall) return [body];
  if (body.mode !== 'each')
    throw new UsageFault(
      `${items.length.toLocaleString('en')} at once are more than ${maxInCall}, and so cannot be made all or none: say --mode each, or send fewer.`,
    );
  return Array.from({ length: Math.ceil(items.length / maxInCall) }, (_, nth) => ({
    ...body,
    items: items.slice(nth * maxInCall, (nth + 1) * maxInCall),
  }));
}

const counts = ['created', 'changed', 'refused'] as const;

/** Merges the answers to all parts into one. */
export function togetherOf(answers: readonly unknown[]): unknown {
  if (answers.length <= 1) return answers[0];
  const items = answers.flatMap((answer): unknown[] => {
    const those = memberOf(answer, 'items');
    return Array.isArray(those) ? those : [];
  });
  const sums = counts.map(
    (key) =>
      [key, answers.reduce<number>((sum, answer) => sum + numberOf(answer, key), 0)] as const,
  );
  return {
    applied: answers.every((answer) => memberOf(answer, 'applied') === true),
    ...Object.fromEntries(sums),
    items,
  };
}

function numberOf(body: unknown, key: string): number {
  const value = memberOf(body, key);
  return typeof value === 'number' ? value : 0;
}

/** The summary below the lines of the items. */
export function summaryOf(body: unknown): string {
  const told = counts.map((key) => `${numberOf(body, key).toLocaleString('en')} ${key}`).join(', ');
  return memberOf(body, 'applied') === false
    ? `Nothing was done, because one was refused: ${told}. With --mode each the others are done.\n`
    : `${told}.\n`;
}

export function hasRefused(body: unknown): boolean {
  return numberOf(body, 'refused') > 0;
}
